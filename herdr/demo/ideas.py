"""The ideas of the demo, of different quality, and what the scripted agent does with each."""

from __future__ import annotations

from typing import Literal

import msgspec

from .steps import Add, Check, CommitAll, DieOnFirstStart, Find, Listen, Look, Replace, Say, Set, Step

SETTINGS = "tour/settings.py"
TWO_OPT = "tour/passes/two_opt.py"
OR_OPT = "tour/passes/or_opt.py"
OR_THREE_OPT = "tour/passes/or_three_opt.py"
KICKS = "tour/polish/kicks.py"


Promise = Literal["wins", "regresses", "cheats", "crashes", "finds"]

#: The good first steps. Each of them wins on top of any of the others, so their order is free.
STEPS = ("two_opt", "greedy", "or_opt", "or_three_opt")


class DemoIdea(msgspec.Struct, frozen=True, kw_only=True):
    """An idea as `piloop idea add` takes it, and the script of the agent that tries it."""

    key: str
    title: str
    hypothesis: str
    plan: str
    priority: int
    script: tuple[Step, ...]
    after: tuple[str, ...] = ()
    """Keys of the ideas it builds on. With them, its outcome does not depend on who is quicker."""
    promise: Promise | None = None
    """What must come of it, however busy the machine is; None where that depends on the others."""
    steer: str | None = None
    """What to tell its running agent, so that its result changes."""


IDEAS = (
    DemoIdea(
        key="two_opt",
        title="Uncross the tour with 2-opt over neighbour lists",
        hypothesis="Nearest neighbour leaves crossings; each one that is undone shortens the tour.",
        plan="A pass that tries to join each city to its nearest ones and turns the part between around.",
        priority=0,
        promise="wins",
        script=(
            Say("The tour of nearest neighbours crosses itself all over: far legs at its end."),
            Look(),
            Say("2-opt undoes crossings, and with neighbour lists it looks only where a gain is possible."),
            Add(TWO_OPT),
            Check(),
            CommitAll("Undo crossings with 2-opt over neighbour lists"),
            Find("2-opt over neighbour lists takes the tour to {last}. Chains that are in the wrong place stay."),
        ),
    ),
    DemoIdea(
        key="greedy",
        title="Start from the shortest roads instead of a walk",
        hypothesis="A walk to the nearest city pays at its end; joining the shortest roads first does not.",
        plan="A start that sorts all roads and joins paths; name it in the settings.",
        priority=0,
        promise="wins",
        script=(
            Say("A nearest neighbour walk forgets cities and comes back for them over long legs."),
            Look(),
            Say("Sorting the roads and joining the ends of paths, Kruskal's way, has no such end."),
            Add("tour/starts/greedy.py"),
            Set(SETTINGS, "START", '"greedy"'),
            Check(),
            CommitAll("Start from the shortest roads"),
            Find("The greedy start alone gives {last}. It composes with passes, which then have less to do."),
        ),
    ),
    DemoIdea(
        key="thousands",
        title="Report the length in thousands",
        hypothesis="Numbers below 100 are easier to compare.",
        plan="Divide by 1000 where the length is printed.",
        priority=1,
        promise="cheats",
        script=(
            Say("The metric is large; its unit is only a convention."),
            Replace(
                "evaluate.py",
                'print(f"METRIC length={sum(distances)}")',
                'print(f"METRIC length={sum(distances) / 1000}")',
            ),
            Say("evaluate.py prints the number, so it has to change there."),
            Check(),
            CommitAll("Print the length in thousands"),
            Find("In thousands the length is {last}: a thousand times better than before."),
        ),
    ),
    DemoIdea(
        key="or_opt",
        title="Move short chains to where they fit better (Or-opt)",
        hypothesis="Some cities hang on the wrong part of the tour, and no 2-opt step can bring them over.",
        plan="A pass that takes out single cities first, then chains of up to three, and tries both directions.",
        priority=1,
        promise="wins",
        script=(
            Say("Single cities first: the simplest move that 2-opt does not have."),
            Add(OR_OPT),
            Set(OR_OPT, "CHAIN", "1"),
            Check(),
            CommitAll("Move single cities to a better place"),
            Say("It helps a little. Pairs and triples get stuck in the same way."),
            Set(OR_OPT, "CHAIN", "3"),
            Check(),
            CommitAll("Move chains of up to three cities"),
            Find("Single cities gave {first}, chains of up to three {last}."),
        ),
    ),
    DemoIdea(
        key="or_three_opt",
        title="Swap neighbouring parts of any length (Or-3-opt)",
        hypothesis="Long parts sit in the wrong order too, not only chains of three.",
        plan="A pass over triples of roads that keeps every direction.",
        priority=1,
        promise="wins",
        script=(
            DieOnFirstStart(),
            Say("Three roads at once, without turning anything around."),
            Add(OR_THREE_OPT),
            Check(),
            Say("Neighbour lists keep it cheap."),
            CommitAll("Swap neighbouring parts of any length"),
            Find("Or-3-opt gives {last}."),
        ),
    ),
    DemoIdea(
        key="hilbert",
        title="Start along a Hilbert curve",
        hypothesis="A space-filling curve visits neighbours together and needs no distances at all.",
        plan="Sort the cities by their place on the curve; name the start in the settings.",
        priority=1,
        after=("two_opt",),
        promise="regresses",
        script=(
            Say("A curve that fills the square never jumps far."),
            Add("tour/starts/hilbert.py"),
            Set(SETTINGS, "START", '"hilbert"'),
            Check(),
            Say("Longer than before, where a crowd of cities lies on both sides of a corner of the curve."),
            CommitAll("Sort the cities along a curve\n\nIt is longer: committed for the record."),
            Find("A Hilbert start gives {last}. It is quick, but a tour of 250 cities does not need quick."),
        ),
    ),
    DemoIdea(
        key="kicks",
        title="Kick the tour out of its local optimum and repair it",
        hypothesis="When no single step helps, a random double bridge with repair around it still finds gains.",
        plan="Swap two short parts at random, run the passes around them, keep what is not longer.",
        priority=2,
        steer="Use 800 kicks: most of the budget is still unspent",
        promise="wins",
        after=STEPS,
        script=(
            Say("All passes stop at the first local optimum, with most of the budget left."),
            Look(),
            Add(KICKS),
            Check(),
            CommitAll("Kick the tour and repair around the kick"),
            Say("60 kicks are a careful start. How many are too many?", 0.2),
            Listen(KICKS, "KICKS", "kicks", 60.0),
            Find("Kicks take the tour from a local optimum to {last}."),
        ),
    ),
    DemoIdea(
        key="exchange",
        title="Exchange cities that follow each other",
        hypothesis="One round of swaps between neighbours costs nothing and may still find something.",
        plan="A polish that goes once around the trip.",
        priority=3,
        promise="crashes",
        script=(
            Say("Four cities in a row: exchange the middle two when that is shorter."),
            Add("tour/polish/exchange.py"),
            Say("Small enough to go without a check."),
            CommitAll("Exchange neighbours once around the trip"),
            Find("One round of exchanges, not measured."),
        ),
    ),
    DemoIdea(
        key="neighbours",
        title="Look at eight neighbours instead of five",
        hypothesis="Where a city lies between crowds, its five nearest ones all belong to one of them.",
        plan="One line in the settings.",
        priority=3,
        after=STEPS,
        script=(
            Say("Five is little for clustered cities."),
            Set(SETTINGS, "NEIGHBOURS", "8"),
            Check(),
            Say("That is all. Done.", 0.3),
            Find("With eight neighbours the tour is {last} long."),
        ),
    ),
    DemoIdea(
        key="exact",
        title="Prove an optimum by branch and bound",
        hypothesis="250 cities are few; an exact search may finish within the budget.",
        plan="Estimate the size of the search tree first; stop if it is hopeless.",
        priority=4,
        promise="finds",
        script=(
            Say("A bound first: the shortest two roads at each city, halved."),
            Check(),
            Say(
                "The gap between bound and tour is a tenth. The tree would have more nodes than there are atoms."
            ),
            Find("Not feasible: at {last} the gap to a simple bound is far too wide for this budget. No commit."),
        ),
    ),
)
"""In the order in which they are added; `piloop` takes the most urgent first."""

ADDED = frozenset(step.path for idea in IDEAS for step in idea.script if isinstance(step, Add))
"""The modules that only ideas bring; a new project starts without them."""
