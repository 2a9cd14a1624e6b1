"""Stories about food and cooking."""

from __future__ import annotations

from reasongym.tasks.word_problems.story import Story, count, plural, template

__all__: list[str] = []


@template(steps=1, holds="things")
def trays_of_rolls(s: Story) -> None:
    trays, each = s.number(2, 9), s.number(6, 24)
    baked = s.pick("bread roll", "cookie", "muffin", "pretzel")
    s.say(f"{s.name} bakes {count(trays, 'tray')} of {plural(baked)}, with {count(each, baked)} on each tray.")
    s.step(f"{s.name} bakes", trays, "*", each, baked)
    s.ask(f"How many {plural(baked)} does {s.name} bake?")


@template(steps=1)
def soup_portions(s: Story) -> None:
    bowls, each = s.number(3, 12), s.number(2, 6)
    s.say(f"a pot holds {count(bowls * each, 'ladle')} of soup, and a bowl takes {count(each, 'ladle')}.")
    s.step("the pot fills", bowls * each, "/", each, "bowl")
    s.ask("How many bowls can be filled from the pot?")


@template(steps=2, holds="things")
def picked_and_eaten(s: Story) -> None:
    fruit = s.pick("apple", "pear", "plum", "peach", "cherry", "fig")
    morning, evening = s.number(12, 60), s.number(8, 50)
    eaten = s.number(2, 10)
    s.say(f"{s.name} picks {count(morning, fruit)} in the morning and {count(evening, fruit)} in the evening.")
    s.say(f"{s.she} eats {eaten} of them on the way home.")
    picked = s.step(f"{s.name} picks", morning, "+", evening, fruit)
    s.step("after the way home there are", picked, "-", eaten, fruit)
    s.ask(f"How many {plural(fruit)} does {s.name} bring home?")


@template(steps=2)
def pancakes_for_guests(s: Story) -> None:
    guests, each, spare = s.number(3, 12), s.number(2, 6), s.number(2, 15)
    s.say(f"{s.name} invites {count(guests, 'guest')} to breakfast and makes {count(each, 'pancake')} for each guest.")
    s.say(f"{s.she} also makes {count(spare, 'pancake')} to keep for the next day.")
    served = s.step("the guests get", guests, "*", each, "pancake")
    s.step(f"{s.name} makes", served, "+", spare, "pancake")
    s.ask(f"How many pancakes does {s.name} make altogether?")


@template(steps=3, holds="things")
def jars_of_jam(s: Story) -> None:
    jam = s.pick("strawberry jam", "plum jam", "honey", "orange marmalade")
    batches, each, friends, given = s.number(3, 8), s.number(7, 12), s.number(2, 4), s.number(2, 4)
    s.say(f"{s.name} cooks {count(batches, 'batch')} of {jam}, and each batch fills {count(each, 'jar')}.")
    s.say(f"{s.she} gives {count(given, 'jar')} to each of {s.her} {count(friends, 'neighbor')}.")
    filled = s.step(f"{s.name} fills", batches, "*", each, "jar")
    gone = s.step("the neighbors get", friends, "*", given, "jar")
    s.step(f"{s.name} keeps", filled, "-", gone, "jar")
    s.ask(f"How many jars does {s.name} keep?")


@template(steps=3)
def recipe_scaled(s: Story) -> None:
    times, flour, sugar = s.number(3, 9), s.number(4, 9), s.number(1, 3)
    s.say(f"a cake takes {count(flour, 'cup')} of flour and {count(sugar, 'cup')} of sugar.")
    s.say(f"{s.name} bakes {count(times, 'cake')} for the village fair.")
    all_flour = s.step("the flour comes to", times, "*", flour, "cup")
    all_sugar = s.step("the sugar comes to", times, "*", sugar, "cup")
    s.step("the difference is", all_flour, "-", all_sugar, "cup")
    s.ask(f"How many more cups of flour than cups of sugar does {s.name} use?")


@template(steps=4, holds="money")
def lemonade_stand(s: Story) -> None:
    lemons, price, glasses, charge = s.number(4, 12), s.number(1, 2), s.number(20, 45), s.number(2, 4)
    cups = s.number(2, 8)
    s.say(f"{s.name} buys {count(lemons, 'lemon')} at {s.money(price)} each and paper cups for {s.money(cups)}.")
    s.say(f"{s.she} sells {count(glasses, 'glass')} of lemonade for {s.money(charge)} each and keeps the profit.")
    fruit = s.step("the lemons cost", lemons, "*", price, s.coin)
    costs = s.step("with the cups the costs are", fruit, "+", cups, s.coin)
    income = s.step("the sales bring", glasses, "*", charge, s.coin)
    s.step(f"{s.name} makes a profit of", income, "-", costs, s.coin)
    s.ask(f"What is the profit in {plural(s.coin)}?")


@template(steps=5)
def catering_order(s: Story) -> None:
    tables, seats, each, spare, box = s.number(3, 8), s.number(4, 8), s.number(2, 4), s.number(1, 9), s.number(3, 6)
    needed = tables * seats * each + spare
    spare += -needed % box
    cost = s.number(4, 12)
    s.say(f"a hall has {count(tables, 'table')} with {count(seats, 'seat')} each, and every guest gets "
          f"{count(each, 'sandwich')}.")
    s.say(f"The cook wants {count(spare, 'extra sandwich')} as a reserve.")
    s.say(f"Sandwiches come in boxes of {box}, and a box costs {s.money(cost)}.")
    guests = s.step("the hall seats", tables, "*", seats, "guest")
    served = s.step("the guests get", guests, "*", each, "sandwich")
    total = s.step("with the reserve the order is", served, "+", spare, "sandwich")
    boxes = s.step("that takes", total, "/", box, "box")
    s.step("the order costs", boxes, "*", cost, s.coin)
    s.ask(f"How many {plural(s.coin)} do the sandwiches cost if every seat is taken?")
