"""Stories about school, books and games."""

from __future__ import annotations

from reasongym.tasks.word_problems.story import Story, count, plural, template

__all__: list[str] = []


@template(steps=1)
def class_in_groups(s: Story) -> None:
    groups, each = s.number(3, 9), s.number(3, 8)
    s.say(f"a class of {count(groups * each, 'student')} is split into {groups} equal groups.")
    s.step("each group has", groups * each, "/", groups, "student")
    s.ask("How many students are in each group?")


@template(steps=1, holds="things")
def card_collection(s: Story) -> None:
    item = s.pick("sticker", "trading card", "stamp", "postcard", "marble")
    own, won = s.number(15, 120), s.number(5, 60)
    s.say(f"{s.name} has {count(own, item)} and wins {won} more at the school fair.")
    s.step(f"{s.name} has", own, "+", won, item)
    s.ask(f"How many {plural(item)} does {s.name} have?")


@template(steps=2)
def pages_left(s: Story) -> None:
    days, each = s.number(3, 9), s.number(10, 30)
    left = s.number(15, 120)
    s.say(f"a book has {count(days * each + left, 'page')}. {s.name} reads {count(each, 'page')} a day "
          f"for {count(days, 'day')}.")
    read = s.step(f"{s.name} reads", days, "*", each, "page")
    s.step("what is left is", days * each + left, "-", read, "page")
    s.ask("How many pages are left to read?")


@template(steps=2, holds="things")
def shared_supplies(s: Story) -> None:
    item = s.pick("colored pencil", "crayon", "sheet of paper", "paper clip")
    boxes, each, given = s.number(3, 8), s.number(8, 24), s.number(4, 16)
    s.say(f"{s.name} gets {count(boxes, 'box')} with {count(each, item)} in each and gives {given} {plural(item)} "
          f"to {s.friend}.")
    got = s.step(f"{s.name} gets", boxes, "*", each, item)
    s.step(f"{s.name} keeps", got, "-", given, item)
    s.ask(f"How many {plural(item)} does {s.name} keep?")


@template(steps=3)
def quiz_points(s: Story) -> None:
    easy, points, hard, bonus = s.number(4, 12), s.number(2, 5), s.number(2, 8), s.number(6, 10)
    s.say(f"in a quiz an easy question is worth {count(points, 'point')} and a hard question {count(bonus, 'point')}.")
    s.say(f"{s.name} answers {count(easy, 'easy question')} and {count(hard, 'hard question')} correctly.")
    first = s.step("the easy questions give", easy, "*", points, "point")
    second = s.step("the hard questions give", hard, "*", bonus, "point")
    s.step(f"{s.name} scores", first, "+", second, "point")
    s.ask(f"How many points does {s.name} score?")


@template(steps=3)
def buses_for_a_trip(s: Story) -> None:
    buses, seats, classes, teachers = s.number(2, 6), s.number(24, 48), s.number(2, 5), s.number(4, 12)
    pupils = buses * seats - teachers
    pupils -= pupils % classes
    teachers = buses * seats - pupils
    s.say(f"{count(classes, 'class')} with {count(pupils // classes, 'pupil')} each go on a trip together with "
          f"{count(teachers, 'adult')}.")
    s.say(f"A bus has room for {count(seats, 'person')}, and every bus is full.")
    together = s.step("the classes have", classes, "*", pupils // classes, "pupil")
    people = s.step("on the trip go", together, "+", teachers, "person")
    s.step("they need", people, "/", seats, "bus")
    s.ask("How many buses do they take?")


@template(steps=4)
def average_of_tests(s: Story) -> None:
    average, gap = s.number(60, 90), s.number(2, 10)
    low, high = s.number(1, 9), s.number(2, 8)
    grades = [average - low, average + high, average + low - high]
    s.say(f"{s.name} scores {grades[0]}, {grades[1]} and {grades[2]} points in three tests.")
    s.say(f"{s.friend}'s average is {count(gap, 'point')} higher than the average of {s.name}.")
    two = s.step("the first two tests give", grades[0], "+", grades[1], "point")
    three = s.step("all three give", two, "+", grades[2], "point")
    mean = s.step(f"{s.name}'s average is", three, "/", 3, "point")
    s.step(f"{s.friend}'s average is", mean, "+", gap, "point")
    s.ask(f"What is {s.friend}'s average?")


@template(steps=4, holds="money")
def class_fund(s: Story) -> None:
    students, each, costs, helpers = s.number(12, 30), s.number(3, 8), s.number(10, 30), s.pick(2, 3, 4)
    gift = s.number(5, 25)
    rest = students * each + gift - costs
    costs += rest % helpers
    s.say(f"{count(students, 'student')} pay {s.money(each)} each into a fund, and a teacher adds {s.money(gift)}.")
    s.say(f"A party costs {s.money(costs)}. The rest is shared equally among {helpers} helpers, one of them {s.name}.")
    paid = s.step("the students pay", students, "*", each, s.coin)
    fund = s.step("with the teacher's gift the fund holds", paid, "+", gift, s.coin)
    left = s.step("after the party there are", fund, "-", costs, s.coin)
    s.step(f"{s.name} gets", left, "/", helpers, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} get?")
