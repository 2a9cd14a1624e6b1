"""Stories about distance, speed and time."""

from __future__ import annotations

from reasongym.tasks.word_problems.story import Story, count, plural, template

__all__: list[str] = []


@template(steps=1)
def steady_drive(s: Story) -> None:
    hours, speed = s.number(2, 9), s.number(8, 22) * 5
    s.say(f"{s.name} drives for {count(hours, 'hour')} at a steady {count(speed, 'kilometer')} per hour.")
    s.step(f"{s.name} drives", hours, "*", speed, "kilometer")
    s.ask(f"How many kilometers does {s.name} drive?")


@template(steps=1)
def distance_left(s: Story) -> None:
    whole = s.number(40, 400)
    done = s.number(10, whole - 5)
    s.say(f"it is {count(whole, 'mile')} to the coast. {s.name} stops for lunch after {count(done, 'mile')}.")
    s.step("what is left is", whole, "-", done, "mile")
    s.ask("How many miles are left after lunch?")


@template(steps=2)
def there_and_back(s: Story) -> None:
    there, days = s.number(2, 18), s.number(3, 20)
    s.say(f"{s.name} cycles {count(there, 'kilometer')} to work and the same way back, "
          f"on {count(days, 'day')} of the month.")
    daily = s.step("in a day that is", 2, "*", there, "kilometer")
    s.step("in the month that is", days, "*", daily, "kilometer")
    s.ask(f"How many kilometers does {s.name} cycle to work and back in the month?")


@template(steps=2)
def train_seats(s: Story) -> None:
    cars, seats, taken = s.number(4, 12), s.number(30, 70), s.number(20, 110)
    s.say(f"a train has {count(cars, 'car')} with {count(seats, 'seat')} each. {count(taken, 'seat')} are taken.")
    every = s.step("the train has", cars, "*", seats, "seat")
    s.step("free are", every, "-", taken, "seat")
    s.ask("How many seats are free?")


@template(steps=3)
def two_legs(s: Story) -> None:
    hours, speed, more, slow = s.number(2, 6), s.number(10, 20) * 5, s.number(2, 5), s.number(6, 10) * 5
    s.say(f"{s.name} travels for {count(hours, 'hour')} by train at {speed} kilometers per hour, then for "
          f"{count(more, 'hour')} by boat at {slow} kilometers per hour.")
    rail = s.step("by train it is", hours, "*", speed, "kilometer")
    water = s.step("by boat it is", more, "*", slow, "kilometer")
    s.step("the whole way is", rail, "+", water, "kilometer")
    s.ask("How many kilometers long is the whole way?")


@template(steps=3)
def fuel_for_a_trip(s: Story) -> None:
    per, liters, price, tank = s.number(8, 16), s.number(10, 40), s.number(2, 3), s.number(2, 9)
    s.say(f"a van goes {count(per, 'kilometer')} on a liter of fuel. {s.name} plans a trip of {per * liters} "
          f"kilometers and has {count(tank, 'liter')} in the tank.")
    s.say(f"A liter costs {s.money(price)}.")
    needed = s.step("the trip takes", per * liters, "/", per, "liter")
    bought = s.step(f"{s.name} has to buy", needed, "-", tank, "liter")
    s.step("the fuel costs", bought, "*", price, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} pay for the fuel that is missing?")


@template(steps=4)
def hike_with_breaks(s: Story) -> None:
    parts, walk, rest, ride = s.number(3, 6), s.number(25, 60), s.number(5, 15), s.number(10, 40)
    s.say(f"a hike has {parts} equal parts, and each part takes {count(walk, 'minute')} of walking.")
    s.say(f"After every part {s.name} rests for {count(rest, 'minute')}.")
    s.say(f"{s.her} bus ride to the start takes {count(ride, 'minute')}, and the ride home from the end takes as long.")
    part = s.step("a part with its rest takes", walk, "+", rest, "minute")
    hike = s.step("the hike takes", parts, "*", part, "minute")
    rides = s.step("the two rides take", 2, "*", ride, "minute")
    s.step("altogether it takes", hike, "+", rides, "minute")
    s.ask("How many minutes does it take from leaving home to coming back?")


@template(steps=5)
def meeting_cyclists(s: Story) -> None:
    hours, slow, extra, gap = s.number(2, 5), s.number(10, 16), s.number(2, 6), s.number(3, 20)
    s.say(f"{s.name} and {s.friend} start toward each other from two towns. {s.name} rides "
          f"{count(slow, 'kilometer')} per hour, and {s.friend} rides {count(extra, 'kilometer')} per hour faster.")
    s.say(f"After {count(hours, 'hour')} they are still {count(gap, 'kilometer')} apart.")
    fast = s.step(f"in an hour {s.friend} rides", slow, "+", extra, "kilometer")
    first = s.step(f"{s.name} has ridden", hours, "*", slow, "kilometer")
    second = s.step(f"{s.friend} has ridden", hours, "*", fast, "kilometer")
    both = s.step("together they have ridden", first, "+", second, "kilometer")
    s.step("the towns are apart by", both, "+", gap, "kilometer")
    s.ask("How many kilometers is it from one town to the other?")
