# SPDX-License-Identifier: Apache-2.0
"""Runs of generated inputs against one server: none may end it (crash_run), none may take more than n log n (growth_run).
Both go round all words by turns, so that a short run has seen every word and a long one every attack."""
import itertools
import time

from generated_attacks import Attack, Case, attacks_on
from generator import CHANGING, COLLECTIONS, DB, SCRIPTS, fill
from raw_bson import doc

DEEP = (20, 60, 190, 1_000, 28_000, 300_000)
LONG = (100, 1_000, 10_000, 50_000)
SIZES = {'deep': DEEP, 'long': LONG, 'wide': LONG}
CPU_FLOOR = 0.020       # seconds of processor time that count as this much
GROWTH_MAX = 8          # times, when the input is 4 times as large
# What is looked at again: a case of this size that takes so many seconds. What is n log n takes a tenth of it.
GROWTH_SIZES = {'deep': (40_000,), 'long': (16_000,), 'wide': (16_000,)}
GROWTH_LOOKED_AT = 0.05
GROWTH_SIZE_MAX = 1_000_000
DATA_SIZES = (6_000, 24_000)
COPYING = ('$unwind',)         # makes n documents of n fields, elements and characters: n squared by its meaning
STORED = 'stored '         # with a seed's number: a case over what is stored


class Finding:
    """What an input did that it must not, and the like of it that was found after it."""

    def __init__(self, case, outcome, note=''):
        self.case, self.outcome, self.note, self.more = case, outcome, note, 0

    def __str__(self):
        more = ', and %d like it' % self.more if self.more else ''
        what = '%s%s%s' % (self.outcome, self.note, more) if self.outcome.is_bad else 'grows: %s%s%s' % (self.outcome, self.note, more)
        return "%s\n    FRESHET_CASE='%s' python3 -B buildscripts/tests/driver_generated_test.py GeneratedTest.test_replay" % (what, self.case)


class Findings:
    """One of each kind."""

    def __init__(self, report):
        self.by_kind, self.report = {}, report

    def add(self, finding, *kind):
        if kind in self.by_kind:
            self.by_kind[kind].more += 1
        else:
            self.by_kind[kind] = finding
            self.report(finding)

    def has(self, *kind):
        return kind in self.by_kind

    def __iter__(self):
        return iter(self.by_kind.values())

    def __len__(self):
        return len(self.by_kind)


class Deck:
    """A word's attacks in a random order, again and again."""

    def __init__(self, word, chance, kinds):
        self.word = word
        self.attacks = [attack for attack in attacks_on(word.seed()) if attack.kind in kinds]
        chance.shuffle(self.attacks)
        self.turns = itertools.cycle(self.attacks)

    def draw(self, chance, sizes):
        attack = next(self.turns)
        hosts = len(self.word.hosts())
        # The first hosts are the usual ones.
        host = 0 if chance.random() < 0.5 else chance.randrange(hosts)
        return Case(self.word, host, attack, chance.choice(sizes[attack.kind]), 'few')


def words_of(language, scripts=False):
    return [word for word in language.words if scripts or not {word.name, word.name.split('.')[0]} & SCRIPTS]


def decks(language, chance, kinds):
    """Decks by turns, forever; each round in another order."""
    made = [Deck(word, chance, kinds) for word in words_of(language)]
    made = [deck for deck in made if deck.attacks]
    while True:
        chance.shuffle(made)
        yield from made


def is_write(case):
    """Whether the case may have changed the collections."""
    return case.word.hosts()[case.host]('few')[0][0] in CHANGING or {case.word.name, case.word.name.split('.')[0]} & {'$out', '$merge'}


def family(case):
    return case.word.kind, case.attack.name.split('@')[0].split(' up')[0]


def smallest(target, language, case, kind):
    """The smallest size, by quarters, with which a case still ends so."""
    while case.n > 16:
        smaller = case.of_size(case.n // 2)
        outcome = target.run(smaller, language)
        if outcome is None or outcome.kind != kind:
            break
        case = smaller
    return case


def crash_run(target, language, chance, seconds, report, reduce=False):
    """Inputs for so long. Gives the number of inputs and the findings."""
    findings, done, until = Findings(report), 0, time.monotonic() + seconds
    worst = 0.0
    for deck in decks(language, chance, ('deep', 'long', 'wide')):
        if time.monotonic() > until:
            break
        case = deck.draw(chance, SIZES).on(chance.choice(COLLECTIONS))
        outcome = target.run(case, language)
        if outcome is None:
            continue
        done += 1
        if outcome.is_bad:
            fresh = not findings.has(outcome.kind, *family(case))
            least = smallest(target, language, case, outcome.kind) if reduce and fresh and outcome.kind == 'ended' else case
            findings.add(Finding(least, outcome), outcome.kind, *family(case))
        if done % 20 == 0:
            worst = max(worst, target.ping())
        if done % 100 == 0:
            target.fill()  # what writes have made of it
    return done, findings, worst


def measured(target, language, case, times=1):
    """The least processor time that a case took; None where it is too large, ended the server or was not accepted."""
    least = None
    for _ in range(times):
        outcome = target.run(case, language)
        if outcome is None or outcome.is_bad:
            return outcome
        least = outcome if least is None or outcome.cpu < least.cpu else least
    return least


def grows(first, second):
    return second.cpu > GROWTH_MAX * max(first.cpu, CPU_FLOOR)


def growth_of(target, language, case):
    """A finding when the case takes some time and its processor time grows by more than GROWTH_MAX while its size grows by
    4, up to its size or from there on."""
    now = measured(target, language, case)
    if now is None or now.is_bad:
        return now and Finding(case, now)
    if now.cpu < GROWTH_LOOKED_AT:
        return None
    for larger in (case, case.of_size(min(4 * case.n, GROWTH_SIZE_MAX))):
        before, now = (measured(target, language, one, 3) for one in (larger.of_size(larger.n // 4), larger))
        if now is None:
            return None
        if now.is_bad:
            return Finding(larger, now)
        if grows(before, now):
            return Finding(larger, now, ' %.3f s with a quarter' % before.cpu)
    return None


def growth_run(target, language, chance, seconds, report, kinds=('deep', 'long', 'wide')):
    """Growing inputs for so long. Gives how many were measured and the findings."""
    findings, done, until = Findings(report), 0, time.monotonic() + seconds
    for deck in decks(language, chance, kinds):
        if time.monotonic() > until:
            break
        case = deck.draw(chance, GROWTH_SIZES)
        finding = growth_of(target, language, case)
        done += 1
        if finding:
            kind = finding.outcome.kind if finding.outcome.is_bad else 'grows'
            findings.add(finding, kind, *family(finding.case), finding.case.word.name if kind == 'grows' else '')
        if is_write(case):
            target.fill()  # or what comes next would not be found again
    return done, findings


def data_growth_run(target, language, chance, seconds, report):
    """Every word over stored documents with n fields, elements and characters, and with four times as many."""
    findings, done, until = Findings(report), 0, time.monotonic() + seconds
    words = [word for word in words_of(language) if word.name not in COPYING]
    chance.shuffle(words)
    for word in words:
        fill_sizes(target)
        for host, number in itertools.product(range(len(word.hosts())), range(len(seeds_over_data(word)))):
            if time.monotonic() > until:
                return done, findings
            done += 1
            finding = data_growth_of(target, language, data_case(word, host, number))
            if is_write(data_case(word, host, number)):
                fill_sizes(target)
            if finding:
                findings.add(finding, finding.outcome.kind, word.kind, word.name)
    return done, findings


def fill_sizes(target):
    for n in DATA_SIZES:
        fill(lambda *pairs: target.connection.command(*pairs, db=DB), size=n, few='of%d' % n)


def seeds_over_data(word):
    """What is found to be accepted, and the word with each stored field."""
    fields = ('$l', '$p', '$m', '$o', '$s') if word.kind in ('expressions', 'accumulators') else ()
    return [word.seed()] + [doc((word.name, argument)) for field in fields for argument in (field, [field, field])]


def data_case(word, host, number):
    return Case(word, host, Attack('data', '%s%d' % (STORED, number), lambda n: seeds_over_data(word)[number]), DATA_SIZES[1], None)


def data_growth_of(target, language, case):
    smaller, case = (case.on('of%d' % n) for n in DATA_SIZES)
    now = measured(target, language, case)
    if now.is_bad or now.cpu < GROWTH_LOOKED_AT:
        return Finding(case, now) if now.is_bad else None
    before, now = measured(target, language, smaller, 3), measured(target, language, case, 3)
    return Finding(case, now, ' %.3f s with a quarter' % before.cpu) if now.is_bad or grows(before, now) else None


def replay(target, language, text):
    """The case that a report names: what became of it, and its finding when it grows."""
    word, host, attack, n, collection = text.split('|')
    found = next(word_ for word_ in language.words if str(word_) == word)
    if attack.startswith(STORED):
        fill_sizes(target)
        case = data_case(found, int(host), int(attack[len(STORED):])).on(collection)
        return measured(target, language, case), data_growth_of(target, language, case)
    case = Case(found, int(host), next(one for one in attacks_on(found.seed()) if one.name == attack), int(n), collection)
    outcome = measured(target, language, case)
    return outcome, None if outcome.is_bad else growth_of(target, language, case)
