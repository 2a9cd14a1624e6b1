"""Stories about home, garden and animals."""

from __future__ import annotations

from reasongym.tasks.word_problems.story import Story, count, plural, template

__all__: list[str] = []


@template(steps=1)
def rows_of_plants(s: Story) -> None:
    plant = s.pick("tomato", "cabbage", "tulip", "onion", "sunflower")
    rows, each = s.number(3, 14), s.number(4, 18)
    s.say(f"{s.name}'s garden has {count(rows, 'row')} of {plural(plant)}, with {count(each, plant)} in each row.")
    s.step("the garden has", rows, "*", each, plant)
    s.ask(f"How many {plural(plant)} grow in the garden?")


@template(steps=1)
def ages_apart(s: Story) -> None:
    age, gap = s.number(5, 40), s.number(2, 30)
    s.say(f"{s.name} is {count(age, 'year')} old. {s.friend} is {count(gap, 'year')} older than {s.name}.")
    s.step(f"{s.friend}'s age is", age, "+", gap, "year")
    s.ask(f"How many years old is {s.friend}?")


@template(steps=2, holds="things")
def eggs_collected(s: Story) -> None:
    hens, days, broken = s.number(4, 15), s.number(2, 7), s.number(2, 4)
    s.say(f"each of {s.name}'s {count(hens, 'hen')} lays an egg a day. {s.name} collects them for "
          f"{count(days, 'day')}, but {count(broken, 'egg')} break.")
    laid = s.step("the hens lay", hens, "*", days, "egg")
    s.step(f"{s.name} has", laid, "-", broken, "egg")
    s.ask(f"How many whole eggs does {s.name} have?")


@template(steps=2)
def twice_and_sum(s: Story) -> None:
    thing = s.pick("shell", "book", "button", "comic", "coin")
    own, times = s.number(6, 60), s.pick(("twice", 2), ("three times", 3), ("four times", 4))
    s.say(f"{s.name} has {count(own, thing)}, and {s.friend} has {times[0]} as many.")
    other = s.step(f"{s.friend} has", times[1], "*", own, thing)
    s.step("together they have", own, "+", other, thing)
    s.ask(f"How many {plural(thing)} do the two have together?")


@template(steps=3)
def fence_around_garden(s: Story) -> None:
    length, width, price = s.number(6, 25), s.number(3, 20), s.number(2, 9)
    s.say(f"a garden is a rectangle, {count(length, 'meter')} long and {count(width, 'meter')} wide.")
    s.say(f"{s.name} puts a fence around it that costs {s.money(price)} a meter.")
    half = s.step("length and width add up to", length, "+", width, "meter")
    around = s.step("the way around is", 2, "*", half, "meter")
    s.step("the fence costs", around, "*", price, s.coin)
    s.ask(f"How many {plural(s.coin)} does the fence cost?")


@template(steps=3, holds="things")
def knitting(s: Story) -> None:
    item = s.pick("cap", "sock", "mitten", "scarf")
    weeks, each, given, sold = s.number(4, 10), s.number(3, 8), s.number(2, 5), s.number(1, 4)
    s.say(f"{s.name} knits {count(each, item)} a week for {count(weeks, 'week')}.")
    s.say(f"{s.she} gives {count(given, item)} to {s.friend} and sells {count(sold, item)} at a fair.")
    knitted = s.step(f"{s.name} knits", weeks, "*", each, item)
    kept = s.step("after the present there are", knitted, "-", given, item)
    s.step("after the fair there are", kept, "-", sold, item)
    s.ask(f"How many {plural(item)} does {s.name} still have?")


@template(steps=4)
def water_tank(s: Story) -> None:
    minutes, inflow, outflow, start = s.number(5, 20), s.number(8, 20), s.number(2, 7), s.number(10, 90)
    s.say(f"a tank holds {count(start, 'liter')} of water. A tap fills in {count(inflow, 'liter')} a minute, while "
          f"{count(outflow, 'liter')} a minute leak out.")
    s.say(f"The tap runs for {count(minutes, 'minute')}.")
    filled = s.step("the tap brings", minutes, "*", inflow, "liter")
    leaked = s.step("the leak takes", minutes, "*", outflow, "liter")
    gained = s.step("the tank gains", filled, "-", leaked, "liter")
    s.step("in the end it holds", start, "+", gained, "liter")
    s.ask("How many liters are in the tank when the tap is closed?")


@template(steps=5, holds="money")
def pocket_money_plan(s: Story) -> None:
    weeks, pocket, chores, paid = s.number(6, 12), s.number(6, 15), s.number(2, 4), s.number(2, 4)
    game, gift = s.number(15, 40), s.number(10, 50)
    s.say(f"each week {s.name} gets {s.money(pocket)} of pocket money and does {count(chores, 'chore')} for "
          f"{s.money(paid)} each.")
    s.say(f"{s.she} saves everything for {count(weeks, 'week')}, then buys a game for {s.money(game)}.")
    s.say(f"For {s.her} birthday {s.she} had already been given {s.money(gift)}.")
    from_chores = s.step("the chores bring each week", chores, "*", paid, s.coin)
    weekly = s.step(f"in a week {s.name} gets", pocket, "+", from_chores, s.coin)
    saved = s.step("in all these weeks that is", weeks, "*", weekly, s.coin)
    with_gift = s.step("with the birthday money it is", saved, "+", gift, s.coin)
    s.step("after the game there are", with_gift, "-", game, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} have after buying the game?")
