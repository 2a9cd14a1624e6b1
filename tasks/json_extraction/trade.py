"""Documents of buying and selling."""

from __future__ import annotations

from reasongym.tasks.json_extraction.draft import Draft, Row, Written, kind
from reasongym.tasks.json_extraction.words import STREETS

__all__: list[str] = []

_GOODS = ("desk lamp", "office chair", "paper tray", "whiteboard", "stapler", "bookshelf", "wall clock", "coat rack",
          "filing box", "monitor arm", "footrest", "label printer")
_COLORS = ("red", "blue", "green", "black", "white", "yellow", "grey")
_FIRMS = ("Alder Supplies", "Brook and Sons", "Cobalt Trading", "Dune Office", "Elm Works", "Fjord Partners")
_PARTS = ("brake pad", "air filter", "spark plug", "wiper blade", "fan belt", "oil seal", "headlight", "fuse box")


@kind
def invoice(d: Draft) -> None:
    d.title("INVOICE")
    d.fact("number", d.code("INV"), "Invoice number: {}.", "invoice number")
    d.fact("supplier", d.pick(_FIRMS), "Supplier: {}.", "firm that sends the invoice")
    d.fact("customer.name", d.person(), "Billed to {}.", "person who is billed")
    d.fact("customer.city", d.city(), "The customer's office is in {}.", "city of the customer")
    d.fact("issued", d.date(), "Issued on {}.", "day of issue")
    d.fact("due", d.date(), "Payment is due by {}.", "last day to pay")
    d.fact("total", d.money(100, 900), "Total to pay: {}.", "amount to pay for this invoice")
    d.rows("lines", lambda: _line(d), "{item}, quantity {quantity}, {price} each", "the lines of the invoice")
    d.aside(f"Your previous invoice, {d.code('INV').text}, has been paid in full.")
    d.aside(f"Paying late adds a fee of {d.money(5, 40).text}.")
    d.aside(f"Our branch in {d.city().text} closed on {d.date().text}.")


def _line(d: Draft) -> Row:
    return {"item": d.pick(_GOODS), "quantity": d.number(2, 40), "price": d.money(3, 90)}


@kind
def order_email(d: Draft) -> None:
    d.title("Subject: my order")
    sender = d.person()
    d.fact("order_number", d.code("ORD", 5), "I am writing about order {}.", "order the mail is about")
    d.fact("sender", sender, "My name is {}.", "person who writes")
    d.fact("address.street", _street(d), "Please send it to {}.", "street and number of delivery")
    d.fact("address.city", d.city(), "The parcel goes to the city of {}.", "city of delivery")
    d.fact("deliver_by", d.date(), "I need everything by {}.", "latest day of delivery")
    d.fact("budget", d.money(50, 500), "I can spend {} at most.", "most the sender can spend")
    d.fact("gift", d.flag("Please wrap it as a gift.", "No gift wrap, please."), "{}", "whether to wrap it as a gift")
    d.rows("products", lambda: _product(d), "{quantity} of the {color} {product}", "the products ordered")
    d.aside(f"An older order of mine was {d.code('ORD', 5).text}.")
    d.aside(f"My colleague {d.person().text} ordered from you too.")
    d.aside(f"I used to live at {_street(d).text} in {d.city().text}.")


def _street(d: Draft) -> Written:
    text = f"{d.number(2, 199).text} {d.pick(STREETS).text}"
    return Written(text, text, "string")


def _product(d: Draft) -> Row:
    return {"product": d.pick(_GOODS), "quantity": d.number(2, 30), "color": d.level_word(_COLORS)}


@kind
def vehicle_service(d: Draft) -> None:
    d.title("SERVICE REPORT")
    d.fact("plate", d.code("KX"), "Vehicle plate: {}.", "plate of the vehicle serviced")
    d.fact("mileage", d.meters(2_000_000, 90_000_000), "Distance driven so far: {}.", "distance driven so far")
    d.fact("mechanic.name", d.person(), "The work was done by {}.", "person who did the work")
    d.fact("mechanic.city", d.city(), "The workshop is in {}.", "city of the workshop")
    d.fact("serviced", d.date(), "Serviced on {}.", "day of this service")
    d.fact("labor", d.minutes(40, 400), "Labor: {}.", "working time")
    d.fact("cost", d.money(80, 900), "Cost of this service: {}.", "cost of this service")
    d.rows("parts", lambda: {"part": d.pick(_PARTS), "count": d.number(1, 12), "price": d.money(4, 120)},
           "{part}: {count} fitted, {price} each", "the parts fitted")
    d.aside(f"The last service cost {d.money(80, 900).text}.")
    d.aside(f"The next check is due on {d.date().text}.")
    d.aside(f"The owner's other car, {d.code('KX').text}, is not part of this report.")
