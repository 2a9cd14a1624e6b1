"""Stories about jobs, wages and machines."""

from __future__ import annotations

from reasongym.tasks.word_problems.story import Story, count, plural, template

__all__: list[str] = []


@template(steps=1, holds="money")
def hourly_wage(s: Story) -> None:
    job = s.pick("in a library", "at a bakery", "in a garden center", "at a swimming pool")
    hours, wage = s.number(3, 12), s.number(9, 25)
    s.say(f"{s.name} works {job} for {count(hours, 'hour')} and earns {s.money(wage)} an hour.")
    s.step(f"{s.name} earns", hours, "*", wage, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} earn?")


@template(steps=1)
def machine_output(s: Story) -> None:
    minutes, each = s.number(4, 15), s.number(6, 40)
    part = s.pick("bolt", "bottle", "brick", "button")
    s.say(f"a machine makes {count(each, part)} a minute, always the same number.")
    s.step("the machine makes", minutes, "*", each, part)
    s.ask(f"How many {plural(part)} does it make in {count(minutes, 'minute')}?")


@template(steps=2, holds="money")
def pay_and_rent(s: Story) -> None:
    weeks, pay = s.number(3, 8), s.number(120, 300)
    rent = s.number(80, 300)
    s.say(f"{s.name} is paid {s.money(pay)} a week and has saved all of it for {count(weeks, 'week')}.")
    s.say(f"Then {s.she} pays a bill of {s.money(rent)}.")
    saved = s.step(f"{s.name} has saved", weeks, "*", pay, s.coin)
    s.step("after the bill there are", saved, "-", rent, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} have left?")


@template(steps=2)
def crates_to_trucks(s: Story) -> None:
    trucks, each, per = s.number(2, 9), s.number(4, 12), s.number(3, 10)
    s.say(f"a farm packs {trucks * each * per} melons into crates of {per}. A truck carries {count(each, 'crate')}.")
    crates = s.step("the melons fill", trucks * each * per, "/", per, "crate")
    s.step("the crates need", crates, "/", each, "truck")
    s.ask("How many trucks does the farm need?")


@template(steps=3, holds="money")
def overtime(s: Story) -> None:
    hours, wage, more, extra = s.number(6, 9), s.number(10, 20), s.number(2, 5), s.number(21, 30)
    s.say(f"{s.name} earns {s.money(wage)} an hour for the first {hours} hours "
          f"and {s.money(extra)} for every hour after that.")
    s.say(f"On Friday {s.she} works those {hours} hours and then {more} more.")
    normal = s.step("the first hours bring", hours, "*", wage, s.coin)
    late = s.step("the later hours bring", more, "*", extra, s.coin)
    s.step(f"{s.name} earns", normal, "+", late, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} earn on Friday?")


@template(steps=3)
def painters(s: Story) -> None:
    people, walls, days, more = s.number(2, 6), s.number(2, 5), s.number(2, 6), s.number(3, 20)
    s.say(f"{count(people, 'painter')} work side by side, and each paints {count(walls, 'wall')} a day.")
    s.say(f"After {count(days, 'day')} there are still {count(more, 'wall')} to paint.")
    daily = s.step("in a day they paint", people, "*", walls, "wall")
    done = s.step("they have painted", days, "*", daily, "wall")
    s.step("in all there are", done, "+", more, "wall")
    s.ask("How many walls are there in all?")


@template(steps=4, holds="money")
def deliveries(s: Story) -> None:
    per_day, days, fee, fuel = s.number(4, 12), s.number(3, 6), s.number(3, 8), s.number(3, 9)
    s.say(f"{s.name} delivers {count(per_day, 'parcel')} a day for {count(days, 'day')} "
          f"and gets {s.money(fee)} a parcel.")
    s.say(f"{s.her} scooter uses fuel for {s.money(fuel)} a day.")
    parcels = s.step(f"{s.name} delivers", per_day, "*", days, "parcel")
    income = s.step("the parcels bring", parcels, "*", fee, s.coin)
    costs = s.step("the fuel costs", days, "*", fuel, s.coin)
    s.step(f"{s.name} is left with", income, "-", costs, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} have left from this work?")


@template(steps=5)
def workshop_orders(s: Story) -> None:
    orders, each, done, days = s.number(5, 9), s.number(6, 9), s.number(2, 10), s.number(2, 4)
    workers = s.number(2, 4)
    left = orders * each - done
    done += left % (days * workers)
    item = s.pick("chair", "bird house", "toy train", "picture frame")
    s.say(f"a workshop has {count(orders, 'order')} for {count(each, item)} each, and a customer adds {workers} more "
          f"{plural(item)}.")
    s.say(f"{done + workers} of all these {plural(item)} are finished already.")
    s.say(f"{count(workers, 'worker')} finish the rest in {count(days, 'day')}, and all do the same every day.")
    ordered = s.step("the orders ask for", orders, "*", each, item)
    total = s.step("with the customer's it is", ordered, "+", workers, item)
    rest = s.step("to finish there are", total, "-", done + workers, item)
    daily = s.step("in a day they finish", rest, "/", days, item)
    s.step("each worker finishes", daily, "/", workers, item)
    s.ask(f"How many {plural(item)} does each worker finish in a day?")
