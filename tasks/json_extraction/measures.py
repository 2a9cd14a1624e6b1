"""Documents full of measurements: kitchen, laboratory, sensors, races."""

from __future__ import annotations

from reasongym.tasks.json_extraction.draft import Draft, Row, kind

__all__: list[str] = []

_DISHES = ("lentil stew", "pumpkin pie", "fish curry", "rye bread", "bean salad", "plum cake")
_INGREDIENTS = ("flour", "sugar", "butter", "onions", "lentils", "carrots", "rice", "oats", "plums", "beans")
_EFFORTS = ("easy", "moderate", "hard")
_ANALYTES = ("glucose", "iron", "sodium", "calcium", "potassium", "zinc", "magnesium", "ferritin")
_STATIONS = ("Ridge Tower", "Lake Pier", "North Gate", "Old Mill", "Pine Hut", "South Dam")
_STATES = ("ok", "warning", "fault")
_EVENTS = ("Lighthouse Run", "Vineyard Race", "Canal Sprint", "Moor Marathon", "Dune Relay", "Summit Dash")


@kind
def recipe(d: Draft) -> None:
    d.title("RECIPE")
    d.fact("dish", d.pick(_DISHES), "Today: {}.", "dish that is made")
    d.fact("servings", d.number(2, 12), "Serves {}.", "number of people it serves")
    d.fact("times.preparation", d.minutes(61, 119), "Preparation takes {}.", "time of preparation")
    d.fact("times.baking", d.minutes(121, 240), "It then stays in the oven for {}.", "time in the oven")
    d.fact("oven", d.number(140, 250), "Oven temperature: {} degrees.", "degrees of the oven")
    d.fact("effort", d.level_word(_EFFORTS), "Effort: {}.", "effort of this recipe")
    d.fact("author", d.person(), "Recipe by {}.", "person whose recipe it is")
    d.rows("ingredients", lambda: {"name": d.pick(_INGREDIENTS), "amount": d.grams(50, 2500)}, "{amount} of {name}",
           "the ingredients")
    d.aside(f"Our {d.pick(_DISHES).text} takes {d.minutes(61, 240).text} instead.")
    d.aside(f"{d.person().text} took the picture.")
    d.aside(f"First printed on {d.date().text}.")


@kind
def lab_result(d: Draft) -> None:
    d.title("LABORATORY REPORT")
    d.fact("sample", d.code("SMP", 5), "Sample {}.", "sample of this report")
    d.fact("patient.name", d.person(), "Patient: {}.", "person the sample is from")
    d.fact("patient.born", d.date(), "Born on {}.", "day of birth of the patient")
    d.fact("taken", d.date(), "Sample taken on {}.", "day the sample was taken")
    d.fact("doctor", d.person(), "Ordered by doctor {}.", "doctor who ordered the report, without the title")
    d.fact("laboratory", d.city(), "Examined in {}.", "city of the laboratory")
    d.fact("fasting", d.flag("The patient had fasted.", "The patient had eaten."), "{}",
           "whether the patient had fasted")
    d.rows("tests", lambda: _test(d), "{analyte}: {value} units, {abnormal}", "the tests made")
    d.aside(f"An earlier sample, {d.code('SMP', 5).text}, was spoiled.")
    d.aside(f"The report was checked by {d.person().text}.")
    d.aside(f"The next sample is planned for {d.date().text}.")


def _test(d: Draft) -> Row:
    return {"analyte": d.pick(_ANALYTES), "value": d.number(10, 400),
            "abnormal": d.flag("outside the normal range", "within the normal range")}


@kind
def sensor_log(d: Draft) -> None:
    d.title("SENSOR LOG")
    d.fact("sensor", d.code("SEN", 3), "Sensor {}.", "sensor that wrote this log")
    d.fact("station.name", d.pick(_STATIONS), "Station: {}.", "station of the sensor")
    d.fact("station.height", d.meters(1100, 3400), "Height above the sea: {}.", "height of the station above the sea")
    d.fact("logged", d.date(), "Log of {}.", "day of this log")
    d.fact("interval", d.seconds(61, 600), "One reading every {}.", "time between readings")
    d.fact("highest", d.number(401, 999), "Highest reading of the day: {}.", "highest reading of the day")
    d.fact("operator", d.person(), "Operator on duty: {}.", "person on duty")
    d.rows("readings", lambda: {"value": d.number(20, 400), "time": d.clock(), "state": d.level_word(_STATES)},
           "at {time} the value was {value}, state {state}", "the readings listed")
    d.aside(f"The spare sensor {d.code('SEN', 3).text} is switched off.")
    d.aside(f"The alarm limit is {d.number(1000, 1999).text}.")
    d.aside(f"The sensor was installed on {d.date().text} by {d.person().text}.")


@kind
def race_results(d: Draft) -> None:
    d.title("RACE RESULTS")
    d.fact("event", d.pick(_EVENTS), "Results of the {}.", "name of the race, without 'the'")
    d.fact("place.city", d.city(), "Held in {}.", "city of the race")
    d.fact("place.course", d.meters(1500, 42000), "Length of the course: {}.", "length of the course")
    d.fact("day", d.date(), "Day of the race: {}.", "day of this race")
    d.fact("starters", d.number(200, 900), "{} runners started.", "number of runners who started")
    d.fact("referee", d.person(), "Referee: {}.", "person who was referee")
    d.fact("prize", d.money(100, 900), "Prize for the winner: {}.", "prize of the winner")
    d.rows("finishers", lambda: {"name": d.person(), "bib": d.number(1, 199), "time": d.seconds(300, 3000)},
           "{name}, bib {bib}, finished in {time}", "the finishers listed")
    d.aside(f"The course record is {d.seconds(300, 3000).text}.")
    d.aside(f"Last time the race was held in {d.city().text}.")
    d.aside(f"{d.person().text} did not start.")
