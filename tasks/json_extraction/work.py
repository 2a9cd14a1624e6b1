"""Documents of offices and of software."""

from __future__ import annotations

from reasongym.tasks.json_extraction.draft import Draft, Row, Written, kind

__all__: list[str] = []

_COMPONENTS = ("login page", "search index", "export job", "mail gateway", "report view", "upload form")
_FAULTS = ("freezes on start", "shows an empty list", "loses the last entry", "prints the wrong date",
           "ignores the filter", "closes without warning")
_SEVERITIES = ("low", "medium", "high", "critical")
_PLATFORMS = ("Linux", "Windows", "Android", "macOS", "iPadOS", "FreeBSD", "ChromeOS")
_JOBS = ("data analyst", "site manager", "bicycle mechanic", "pastry chef", "night nurse", "tax clerk")
_SKILLS = ("welding", "bookkeeping", "first aid", "public speaking", "driving", "negotiation", "drawing", "statistics")
_FIRMS = ("Amber Labs", "Birchfield", "Clearwater Group", "Delta Crafts", "Everhall", "Fernbridge")
_TEAMS = ("planning", "logistics", "design", "safety", "finance", "outreach")
_DUTIES = ("update the budget", "call the supplier", "book the hall", "draft the letter", "check the stock",
           "order the badges", "clean the archive")
_DEVICES = ("router", "printer", "scanner", "tablet", "headset", "projector", "keyboard")


@kind
def bug_report(d: Draft) -> None:
    d.title("BUG REPORT")
    d.fact("id", d.code("BUG"), "Report {}.", "id of this report")
    d.fact("component", d.pick(_COMPONENTS), "The fault is in the {}.", "part of the program at fault")
    d.fact("fault", d.pick(_FAULTS), "What happens: it {}.", "what happens, as the text says it, without 'it'")
    d.fact("severity", d.level_word(_SEVERITIES), "Severity: {}.", "severity of this fault")
    d.fact("reporter.name", d.person(), "Reported by {}.", "person who reported it")
    d.fact("reporter.city", d.city(), "The reporter works in {}.", "city of the reporter")
    d.fact("reported", d.date(), "Reported on {}.", "day of the report")
    d.fact("crashes", d.number(3, 400), "It crashed {} times.", "number of crashes")
    d.rows("platforms", lambda: {"platform": d.pick(_PLATFORMS), "version": _version(d), "crashes": d.number(2, 99)},
           "{platform}, version {version}: {crashes} crashes", "the platforms affected")
    d.aside(f"It looks like {d.code('BUG').text}, which is closed.")
    d.aside(f"The {d.pick(_COMPONENTS).text} works as it should.")
    d.aside(f"{d.person().text} could not see the fault on {d.date().text}.")


def _version(d: Draft) -> Written:
    text = f"{d.rng.randint(1, 9)}.{d.rng.randint(0, 19)}.{d.rng.randint(0, 9)}"
    return Written(text, text, "string")


@kind
def job_posting(d: Draft) -> None:
    d.title("WE ARE HIRING")
    d.fact("position", d.pick(_JOBS), "Position: {}.", "position that is open")
    d.fact("employer.name", d.pick(_FIRMS), "Employer: {}.", "firm that hires")
    d.fact("employer.city", d.city(), "Place of work: {}.", "city of the work")
    d.fact("salary", d.money(1800, 6000), "Salary per month: {}.", "salary per month")
    d.fact("weekly_hours", d.number(15, 40), "Hours per week: {}.", "hours of work per week")
    d.fact("apply_by", d.date(), "Apply by {}.", "last day to apply")
    d.fact("contact", d.person(), "Questions go to {}.", "person who answers questions")
    d.fact("remote", d.flag("Working from home is possible.", "The work is on site only."), "{}",
           "whether work from home is possible")
    d.rows("skills", lambda: {"skill": d.pick(_SKILLS), "months": _months(d)}, "{skill}, experience: {months}",
           "the skills asked for")
    d.aside(f"Last year we also looked for a {d.pick(_JOBS).text}.")
    d.aside(f"Our founder, {d.person().text}, started in {d.city().text}.")
    d.aside(f"Travel costs are paid up to {d.money(50, 300).text}.")


def _months(d: Draft) -> Written:
    """Months, or years that are to be given in months."""
    if not d.converts:
        return d.number(6, 60)
    years = d.rng.randint(2, 9)
    return Written(f"{years} years", 12 * years, "integer", "in months")


@kind
def minutes(d: Draft) -> None:
    d.title("MINUTES OF THE MEETING")
    d.fact("team", d.pick(_TEAMS), "Meeting of the {} team.", "team that met")
    d.fact("held", d.date(), "Held on {}.", "day of this meeting")
    d.fact("start", d.clock(), "Start: {}.", "time of the start")
    d.fact("duration", d.minutes(61, 200), "Duration: {}.", "duration of this meeting")
    d.fact("people.chair", d.person(), "Chair: {}.", "person in the chair")
    d.fact("people.secretary", d.person(), "Notes taken by {}.", "person who took the notes")
    d.fact("present", d.number(4, 30), "{} members were present.", "number of members present")
    d.rows("actions", lambda: {"duty": d.pick(_DUTIES), "owner": d.person(), "due": d.date()},
           "{owner} will {duty} by {due}", "what was agreed to be done")
    d.aside(f"The next meeting is on {d.date().text} at {d.clock().text}.")
    d.aside(f"{d.person().text} sent apologies.")
    d.aside(f"The {d.pick(_TEAMS).text} team had asked for more time.")


@kind
def support_chat(d: Draft) -> None:
    customer, agent = d.person(), d.person()
    d.title("CHAT LOG")
    d.fact("ticket", d.code("TCK", 5), "Ticket {}.", "ticket of this chat")
    d.fact("customer", customer, "{} asks for help.", "person who asks for help")
    d.fact("agent.name", agent, "{} answers for the support team.", "person who answers")
    d.fact("agent.city", d.city(), "The support team sits in {}.", "city of the support team")
    d.fact("started", d.clock(), "Chat opened at {}.", "time the chat opened")
    d.fact("waited", d.seconds(70, 900), "Time spent waiting: {}.", "time the customer waited")
    d.fact("solved", d.flag("The problem was solved.", "The problem remains open."), "{}",
           "whether the problem was solved")
    d.rows("devices", lambda: _device(d), "{device} {serial}, bought on {bought}", "the devices the chat is about")
    d.aside(f"An earlier ticket, {d.code('TCK', 5).text}, is closed.")
    d.aside(f"The usual wait is {d.seconds(70, 900).text}.")
    d.aside(f"{d.person().text} will call back at {d.clock().text}.")


def _device(d: Draft) -> Row:
    return {"device": d.pick(_DEVICES), "serial": d.code("SN", 5), "bought": d.date()}
