"""Documents of journeys, homes and loans."""

from __future__ import annotations

from reasongym.tasks.json_extraction.draft import Draft, kind
from reasongym.tasks.json_extraction.words import STREETS

__all__: list[str] = []

_ROOMS = ("kitchen", "bedroom", "bathroom", "study", "living room", "hall", "pantry", "nursery")
_TITLES = ("The Quiet Shore", "A Map of Snow", "Seven Bridges", "Salt and Iron", "The Night Orchard", "Glass Harbor",
           "A Field of Clocks", "The Last Ferry")
_SEASONS = ("spring", "summer", "autumn", "winter")


@kind
def flight_booking(d: Draft) -> None:
    d.title("BOOKING CONFIRMATION")
    d.fact("reference", d.code("BK", 5), "Booking reference {}.", "reference of this booking")
    d.fact("passenger.name", d.person(), "Passenger: {}.", "person who flies")
    d.fact("passenger.seat", d.code("S", 2), "Seat {} is reserved.", "seat reserved")
    d.fact("route.origin", d.city(), "The journey starts in {}.", "city where the journey starts")
    d.fact("route.destination", d.city(), "The journey ends in {}.", "city where the journey ends")
    d.fact("departure_date", d.date(), "Day of departure: {}.", "day of departure")
    d.fact("departure_time", d.clock(), "Departure at {}.", "time of departure")
    d.fact("baggage", d.grams(5000, 30000), "Checked baggage: {}.", "weight of the checked baggage")
    d.rows("flights", lambda: {"number": d.code("FL", 3), "gate": d.number(2, 60), "duration": d.minutes(45, 300)},
           "flight {number} from gate {gate}, flying time {duration}", "the flights of the journey")
    d.aside(f"The booking {d.code('BK', 5).text} was cancelled before.")
    d.aside(f"Hand baggage may weigh {d.grams(4000, 9000).text}.")
    d.aside(f"The agency in {d.city().text} is closed on {d.date().text}.")


@kind
def property_listing(d: Draft) -> None:
    d.title("TO LET")
    d.fact("address.street", d.pick(STREETS), "A flat in {}.", "street of the flat")
    d.fact("address.city", d.city(), "It lies in {}.", "city of the flat")
    d.fact("floor", d.number(1, 20), "Floor: {}.", "floor the flat is on")
    d.fact("rent", d.money(400, 2000), "Rent per month: {}.", "rent per month")
    d.fact("deposit", d.money(2001, 4000), "Deposit: {}.", "deposit to be left")
    d.fact("available", d.date(), "Free from {}.", "first day it is free")
    d.fact("agent", d.person(), "Visits are arranged by {}.", "person who arranges visits")
    d.fact("pets", d.flag("Pets are welcome.", "Pets are not allowed."), "{}", "whether pets are allowed")
    d.rows("rooms", lambda: {"name": d.pick(_ROOMS), "area": d.number(4, 45)}, "{name}: {area} square meters",
           "the rooms")
    d.aside(f"The flat below was let for {d.money(400, 2000).text} a month.")
    d.aside(f"The owner, {d.person().text}, lives in {d.city().text}.")
    d.aside(f"The house was renovated on {d.date().text}.")


@kind
def library_loan(d: Draft) -> None:
    d.title("LIBRARY NOTICE")
    d.fact("member.name", d.person(), "Dear {},", "member who borrows")
    d.fact("member.card", d.code("LIB"), "your card is {}.", "card of the member")
    d.fact("branch", d.city(), "This notice comes from our branch in {}.", "city of the branch that writes")
    d.fact("sent", d.date(), "Sent on {}.", "day of this notice")
    d.fact("fine", d.money(2, 60), "Your fine so far: {}.", "fine of the member so far")
    d.fact("visits", d.number(20, 200), "You have visited us {} times.", "visits so far")
    d.fact("may_renew", d.flag("You may renew your loans.", "You cannot renew your loans."), "{}",
           "whether the loans may be renewed")
    d.rows("books", lambda: {"title": d.pick(_TITLES), "shelf": d.code("SH", 3), "due": d.date()},
           "{title}, shelf {shelf}, due {due}", "the books on loan")
    d.aside(f"A lost card costs {d.money(2, 60).text}.")
    d.aside(f"Our director, {d.person().text}, retires on {d.date().text}.")
    d.aside(f"The branch in {d.city().text} opens again in {d.level_word(_SEASONS).text}.")
