"""Stories about buying and selling."""

from __future__ import annotations

from reasongym.tasks.word_problems.story import Story, count, plural, template

__all__: list[str] = []


@template(steps=1)
def same_price_items(s: Story) -> None:
    item = s.pick("notebook", "candle", "woolen scarf", "mug", "tennis ball", "paintbrush")
    bought, price = s.number(3, 15), s.number(2, 20)
    s.say(f"{s.name} buys {count(bought, item)} for {s.money(price)} each.")
    s.step(f"{s.name} pays", bought, "*", price, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} pay?")


@template(steps=1, holds="money")
def change_from_a_note(s: Story) -> None:
    note = s.pick(50, 100, 200)
    price = s.number(6, note - 8)
    item = s.pick("a jacket", "a lamp", "a board game", "a pair of shoes", "a backpack")
    s.say(f"{s.name} has {s.money(note)} and buys {item} for {s.money(price)}.")
    s.step(f"{s.name} has left", note, "-", price, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} have left?")


@template(steps=2, holds="money")
def tickets_to_a_show(s: Story) -> None:
    budget, tickets, price = s.number(120, 300), s.number(2, 9), s.number(6, 12)
    show = s.pick("the circus", "a concert", "the zoo", "a puppet show")
    s.say(f"{s.name} has {s.money(budget)} and buys {count(tickets, 'ticket')} to {show} at {s.money(price)} each.")
    paid = s.step("the tickets cost", tickets, "*", price, s.coin)
    s.step(f"{s.name} has left", budget, "-", paid, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} have after that?")


@template(steps=2)
def half_price_sale(s: Story) -> None:
    half, bought = s.number(4, 30), s.number(2, 8)
    item = s.pick("shirt", "cushion", "pot", "sun hat", "vase")
    s.say(f"in a sale everything costs half of its old price. A {item} used to cost {s.money(2 * half)}.")
    s.say(f"{s.name} buys {count(bought, item)}.")
    price = s.step("the sale price is", 2 * half, "/", 2, s.coin)
    s.step(f"{s.name} pays", bought, "*", price, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} pay in the sale?")


@template(steps=3)
def mixed_basket(s: Story) -> None:
    first, second = s.pick(("pencil", "eraser"), ("towel", "soap dish"), ("plate", "fork"), ("rose", "tulip"))
    a, price_a, b, price_b = s.number(2, 12), s.number(2, 9), s.number(2, 12), s.number(1, 6)
    s.say(f"{s.name} buys {count(a, first)} at {s.money(price_a)} each "
          f"and {count(b, second)} at {s.money(price_b)} each.")
    cost_a = s.step(f"the {plural(first)} cost", a, "*", price_a, s.coin)
    cost_b = s.step(f"the {plural(second)} cost", b, "*", price_b, s.coin)
    s.step(f"{s.name} spends", cost_a, "+", cost_b, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} spend in total?")


@template(steps=3, holds="money")
def market_stall(s: Story) -> None:
    goods = s.pick("clay bowl", "basket", "wooden toy", "bunch of flowers", "knitted hat")
    sold, price, fee, start = s.number(6, 20), s.number(4, 15), s.number(5, 20), s.number(10, 60)
    s.say(f"{s.name} comes to the market with {s.money(start)} and sells {count(sold, goods)} "
          f"at {s.money(price)} each.")
    s.say(f"The place at the market costs {s.money(fee)}.")
    income = s.step("the sales bring", sold, "*", price, s.coin)
    cash = s.step(f"with the money from home {s.name} has", income, "+", start, s.coin)
    s.step(f"after paying for the place {s.name} has", cash, "-", fee, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} take home?")


@template(steps=4)
def quarter_off(s: Story) -> None:
    quarter, bought, voucher = s.number(5, 20), s.number(2, 6), s.number(3, 12)
    item = s.pick("chair", "bookcase", "blanket", "suitcase")
    s.say(f"A {item} costs {s.money(4 * quarter)}. Today the shop takes a quarter off this price.")
    s.say(f"{s.name} buys {count(bought, item)} and also pays with a voucher worth {s.money(voucher)}.")
    off = s.step("a quarter of the price is", 4 * quarter, "/", 4, s.coin)
    price = s.step("the price today is", 4 * quarter, "-", off, s.coin)
    total = s.step(f"the {plural(item)} cost", bought, "*", price, s.coin)
    s.step(f"after the voucher {s.name} pays", total, "-", voucher, s.coin)
    s.ask(f"How many {plural(s.coin)} does {s.name} still have to pay after using the voucher?")


@template(steps=5)
def comparing_offers(s: Story) -> None:
    packs, price, singles_in_pack, single = s.number(3, 8), s.number(9, 15), s.number(6, 10), s.number(3, 5)
    delivery = s.number(2, 6)
    item = s.pick("light bulb", "battery", "filter", "marker")
    s.say(f"an office needs {count(packs, 'pack')} of {plural(item)}. A pack holds {count(singles_in_pack, item)} "
          f"and costs {s.money(price)}, with {s.money(delivery)} for the whole delivery.")
    s.say(f"Bought one by one without delivery, each {item} costs {s.money(single)}.")
    pack_cost = s.step("the packs cost", packs, "*", price, s.coin)
    delivered = s.step("with delivery that is", pack_cost, "+", delivery, s.coin)
    pieces = s.step("the office needs", packs, "*", singles_in_pack, item)
    one_by_one = s.step("bought one by one they cost", pieces, "*", single, s.coin)
    s.step("the packs save", one_by_one, "-", delivered, s.coin)
    s.ask(f"How many {plural(s.coin)} does the office save by ordering packs?")
