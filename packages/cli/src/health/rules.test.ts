import { readFileSync } from 'node:fs'
import type { CleanerReport, IndexReport } from '@looseleaf/cleaner'
import type { EmptiedTable, ShardReport, ShardRewind } from '@looseleaf/cleaner/internal'
import type { ConsumerReport } from '@looseleaf/changes'
import { LooseleafError } from '@looseleaf/core'
import type { StorePolicies } from '@looseleaf/core/internal'
import type { BodyInspection, BrokenCodecEntry, ReplicaReport } from '@looseleaf/store/internal'
import { describe, expect, it, test } from 'vitest'
import { callRuleCases } from '../../test/call-rule-cases.ts'
import { moveRuleCases } from '../../test/move-rule-cases.ts'
import type { Facts, Finding } from './facts.ts'
import {
  CONSUMER_LAG_MS,
  findingsOf,
  gradeOf,
  LAG_MS,
  NO_CLEANER_MS,
  PENDING_MS,
  REPLICA_LAG_MS,
  rules,
  STALLED_MS,
  SWEEPS_MISSED,
} from './rules.ts'

const NOW = Date.UTC(2030, 0, 1)
const HOUR = 3_600_000
const DAY = 24 * HOUR
const ago = (milliseconds: number): Date => new Date(NOW - milliseconds)

const tally = {
  entities: 10,
  rows: 10,
  added: 0,
  removed: 3,
  fenced: 0,
  postponed: 0,
  misplaced: 0,
  misfits: 12,
  duplicates: 0,
  undecodable: 0,
}
const shard: ShardReport = {
  shard: 0,
  name: 'one',
  error: undefined,
  isFollowed: true,
  worker: 'host:7',
  lastRoundAt: ago(1_000),
  sinceLastRoundMs: 1_000,
  lagMs: 2_000,
  isFallingBehind: false,
  pending: undefined,
}
const lastRun = { finishedAt: ago(DAY / 2), tally, missing: 0 }
const index: IndexReport = {
  index: 'by_user',
  generation: 1,
  state: 'ready',
  lastRun,
  inProgress: undefined,
  misfits: undefined,
}
const report: CleanerReport = {
  updatedAt: ago(1_000),
  totals: tally,
  lastFoundAt: undefined,
  lastUndecodableAt: undefined,
  lastError: undefined,
  sweepEveryMs: DAY,
  indexes: [index],
  shards: [shard],
}
const policies: StorePolicies = {
  deleteDelayMs: 0,
  onIndexFailure: 'fail',
  keepTombstonesMs: 7 * DAY,
}
const well: Facts = {
  now: NOW,
  report,
  error: undefined,
  policies,
  bodies: undefined,
  consumers: [],
  replicas: [],
  probes: [],
  failures: [],
  wentBack: [],
  lostRows: [],
  configIndexes: [],
  shards: [],
  moves: [],
  ownerFaults: [],
}

const withShard = (fields: Partial<ShardReport>): Facts => ({
  ...well,
  report: { ...report, shards: [{ ...shard, ...fields }] },
})
/** Facts of a shard without a saved round, in a store whose cleaner was seen at this time. */
const neverFollowed = (updatedAt: Date | undefined): Facts => {
  const never = { ...shard, worker: undefined, lastRoundAt: undefined, sinceLastRoundMs: undefined }
  return { ...well, report: { ...report, updatedAt, shards: [{ ...never, lagMs: undefined }] } }
}
const withIndex = (fields: Partial<IndexReport>): Facts => ({
  ...well,
  report: { ...report, indexes: [{ ...index, ...fields }] },
})
const withRun = (fields: Partial<NonNullable<IndexReport['lastRun']>>): Facts =>
  withIndex({ lastRun: { ...lastRun, ...fields } })
const inProgress = (savedMsAgo: number | undefined, startedMsAgo = DAY): IndexReport['inProgress'] => ({
  startedAt: ago(startedMsAgo),
  savedAt: savedMsAgo === undefined ? undefined : ago(savedMsAgo),
  rate: 0,
  timeLeftMs: undefined,
  undecodable: 0,
  shards: [],
})
const away = new LooseleafError('SHARD_UNAVAILABLE', 'Connection refused.', { shard: 'one' })
const refusal = new LooseleafError('STATEMENT_FAILED', 'The table is gone.', { shard: 'one' })
const pending = (msAgo: number, more = false) => ({ rows: more ? 500 : 4, more, oldestAt: ago(msAgo) })

const back = (fields: Partial<ShardRewind>): Facts => ({
  ...well,
  wentBack: [
    { shard: 'one', to: NOW - DAY, from: NOW - DAY / 2, foundAt: NOW - 60_000, isSwept: false, ...fields },
  ],
})
const search = (registeredAt: Date | undefined) => ({ name: 'search', registeredAt, shards: [] })
const lostRows = (fields: Partial<EmptiedTable>): Facts => ({
  ...well,
  lostRows: [
    { index: 'by_user', generation: 1, shard: 'one', foundAt: ago(60_000), isFilled: false, ...fields },
  ],
})

const look: BodyInspection = { bodies: 40, isWhole: true, broken: [], undecodable: 0, why: undefined }
const dictionary = { id: '0a1b', kind: 'dictionary', damagedOn: [], isLost: true, bodies: 7 }
const lost = (fields: Partial<BrokenCodecEntry>): Facts => ({
  ...well,
  bodies: { ...look, broken: [{ ...dictionary, ...fields }] },
})
/** Facts with an undecodable entity that a cleaner read `msAgo`. The last cleaning ended half a day ago. */
const met = (msAgo: number): Facts => ({ ...well, report: { ...report, lastUndecodableAt: ago(msAgo) } })

const replica = (fields: Partial<ReplicaReport>): Facts => ({
  ...well,
  replicas: [{ name: 'copy', primary: 'one', behindMs: 300, exclusionReason: undefined, ...fields }],
})

const consumer = (fields: Partial<ConsumerReport['shards'][number]>): Facts => ({
  ...well,
  consumers: [
    {
      name: 'search',
      shards: [
        {
          name: 'one',
          error: undefined,
          lagMs: 300,
          partitions: 8,
          processes: 1,
          failing: 0,
          deadLetters: 0,
          ...fields,
        },
      ],
    },
  ],
})

test('a store without problems has no findings', () => {
  expect(findingsOf(well)).toEqual([])
})

/** Cases by rule. `found`: facts with one finding, and words of its line. `well`: facts without one, just within its bound. */
const cases: Readonly<
  Record<string, { readonly found: readonly [Facts, ...string[]][]; readonly well: readonly Facts[] }>
> = {
  shard: {
    found: [
      [withShard({ error: away, sinceLastRoundMs: undefined }), 'shard one', 'SHARD_UNAVAILABLE'],
      [{ ...well, report: undefined, error: away }, 'shard one', 'Connection refused.'],
      [
        { ...well, report: undefined, error: away, policies: undefined },
        'shard one',
        'bring the server back',
      ],
      [{ ...well, report: undefined, error: refusal }, 'shard one', 'The table is gone.', 'tables'],
    ],
    well: [{ ...well, report: undefined, error: refusal, policies: undefined }],
  },
  catalog: {
    found: [
      [
        {
          ...well,
          report: undefined,
          error: new LooseleafError('STORE_TOO_NEW', 'Use version 9.'),
          policies: undefined,
        },
        'STORE_TOO_NEW',
        'Use version 9.',
      ],
    ],
    // The catalog was read, so the error comes from the shard.
    well: [{ ...well, report: undefined, error: refusal }],
  },
  ...callRuleCases(well),
  'no cleaner': {
    found: [
      [withShard({ sinceLastRoundMs: NO_CLEANER_MS + 1 }), 'shard one', 'for 5 min', 'host:7'],
      [neverFollowed(undefined), 'shard one', 'no cleaner has followed its writes so far'],
      [neverFollowed(ago(NO_CLEANER_MS + 1)), 'so far'],
      [neverFollowed(ago(-2 * HOUR)), 'so far'],
      [withShard({ sinceLastRoundMs: undefined }), 'clock of its server was ahead', 'unknown', 'host:7'],
    ],
    well: [
      withShard({ sinceLastRoundMs: NO_CLEANER_MS }),
      // A cleaner has begun, and has saved no round yet.
      neverFollowed(ago(NO_CLEANER_MS)),
      // A store without indexes needs no cleaner.
      { ...well, report: { ...report, indexes: [], shards: [{ ...shard, sinceLastRoundMs: undefined }] } },
    ],
  },
  lag: {
    found: [
      [
        withShard({ lagMs: LAG_MS + 1, isFallingBehind: true }),
        '5 min behind',
        'falls further behind',
        'rowsPerRound',
      ],
      [withShard({ lagMs: LAG_MS + 1 }), 'catches up'],
      [withShard({ lagMs: undefined }), 'an unknown time', 'clock of its server was ahead'],
    ],
    well: [withShard({ lagMs: LAG_MS })],
  },
  'sweep overdue': {
    found: [
      [withRun({ finishedAt: ago(SWEEPS_MISSED * DAY + 1) }), 'index by_user', '2 days'],
      [withRun({ finishedAt: ago(-2 * HOUR) }), 'at a time in the future', 'clock that was ahead'],
      [withIndex({ lastRun: undefined }), 'never swept'],
      [{ ...well, report: { ...report, sweepEveryMs: 1_000 } }, '12 h', 'looseleaf clean --index by_user'],
      [{ ...withRun({ finishedAt: ago(3 * DAY) }) }, '3 days'],
    ],
    well: [
      withRun({ finishedAt: ago(SWEEPS_MISSED * DAY) }),
      withIndex({ lastRun: undefined, inProgress: inProgress(0) }),
      withIndex({ lastRun: undefined, state: 'building' }),
      {
        ...well,
        report: {
          ...report,
          sweepEveryMs: 2 * DAY,
          indexes: [{ ...index, lastRun: { ...lastRun, finishedAt: ago(3 * DAY) } }],
        },
      },
      { ...well, report: { ...report, updatedAt: undefined, indexes: [{ ...index, lastRun: undefined }] } },
    ],
  },
  'run stalls': {
    found: [
      [
        withIndex({ state: 'building', inProgress: inProgress(STALLED_MS + 1) }),
        'index by_user',
        'filling',
        '10 min',
      ],
      [withIndex({ generation: 2, inProgress: inProgress(undefined) }), '(generation 2)', 'cleaning', '24 h'],
      [withIndex({ unique: true, inProgress: inProgress(undefined) }), '(unique)'],
      [withIndex({ inProgress: inProgress(-2 * HOUR) }), 'at a time in the future', 'clock that was ahead'],
    ],
    well: [
      withIndex({ inProgress: inProgress(STALLED_MS) }),
      withIndex({ state: 'building', halted: true, inProgress: inProgress(STALLED_MS + 1) }),
      withIndex({ inProgress: inProgress(undefined, 1_000) }),
      {
        ...withIndex({ inProgress: inProgress(STALLED_MS + 1) }),
        policies: { ...policies, deleteDelayMs: 1 },
      },
    ],
  },
  'missing rows': {
    found: [
      [withRun({ missing: 1 }), 'index by_user', '1 row missing', 'added it'],
      [withRun({ missing: 1_234 }), '1,234 rows missing', 'added them'],
    ],
    well: [{ ...withRun({ missing: 3 }), policies: { ...policies, onIndexFailure: 'defer' } }],
  },
  'pending rows': {
    found: [
      [withShard({ pending: pending(PENDING_MS + 1) }), 'shard one', '4 index rows', 'oldest for 10 min'],
      [
        withShard({ pending: pending(PENDING_MS + 1, true) }),
        'more than 500 index rows',
        'oldest for at least 10 min',
      ],
      [withShard({ pending: pending(-2 * HOUR) }), '4 index rows', 'clock that was ahead', 'not complete'],
    ],
    well: [
      withShard({ pending: pending(PENDING_MS) }),
      withShard({ pending: { rows: 0, more: false, oldestAt: undefined } }),
      { ...withShard({ pending: pending(PENDING_MS + 1) }), policies: { ...policies, deleteDelayMs: 1 } },
    ],
  },
  duplicates: {
    found: [
      [withRun({ tally: { ...tally, duplicates: 2 } }), '2 entities have a key', 'index violations by_user'],
    ],
    well: [],
  },
  damaged: {
    found: [
      [withRun({ tally: { ...tally, undecodable: 1 } }), '1 entity', 'looseleaf damaged'],
      [withIndex({ inProgress: { ...inProgress(0)!, undecodable: 2 } }), '2 entities'],
      [met(3_600_000), 'a cleaner has met', '60 min ago'],
      [
        { ...well, bodies: { ...look, undecodable: 3, why: 'Format 9.' } },
        '3 of the 40 bodies',
        'the error of one: Format 9.',
      ],
    ],
    // A later cleaning has met no undecodable entity.
    well: [met(DAY / 2 + 1), { ...well, bodies: look }],
  },
  replica: {
    found: [
      [
        replica({ behindMs: REPLICA_LAG_MS + 30_000 }),
        'replica copy',
        'is 90 s behind one',
        'SHOW REPLICA STATUS',
      ],
      [replica({ behindMs: undefined, exclusionReason: 'It hangs.' }), 'is not read from: It hangs.'],
    ],
    well: [replica({}), replica({ behindMs: REPLICA_LAG_MS }), replica({ behindMs: undefined })],
  },
  'consumer lag': {
    found: [
      [
        consumer({ lagMs: CONSUMER_LAG_MS + 1, failing: 3 }),
        'consumer search',
        '5 min behind',
        '3 changes fail',
        'throws',
      ],
      [consumer({ lagMs: Infinity, processes: 0 }), 'at its beginning', 'consumer drop search'],
      [consumer({ lagMs: undefined, processes: 0 }), 'unknown', 'clock of a server was ahead', 'start it'],
    ],
    well: [consumer({ lagMs: CONSUMER_LAG_MS }), consumer({ lagMs: Infinity, error: away })],
  },
  'dead letters': {
    found: [[consumer({ deadLetters: 2 }), '2 dead letters', 'consumer letters search']],
    well: [consumer({ failing: 5 })],
  },
  'kept tombstones': {
    found: [
      [consumer({ lagMs: 8 * DAY }), 'tombstones are kept for it beyond the 7 days', 'consumer drop search'],
    ],
    well: [
      consumer({ lagMs: 6 * DAY }),
      consumer({ lagMs: Infinity }),
      consumer({ lagMs: 8 * DAY, error: away }),
    ],
  },
  'codec entries': {
    found: [
      [lost({}), 'dictionary 0a1b', 'no shard that answers has it', '7 of the 40 bodies', 'from a backup'],
      [lost({ damagedOn: ['one', 'two'] }), 'damaged on one, two, and no shard has it whole', 'delete the'],
      [lost({ damagedOn: ['one'], isLost: false }), 'damaged on one;', 'puts it back from another shard'],
    ],
    well: [{ ...well, bodies: look }],
  },
  'shard went back': {
    found: [
      [back({}), 'shard one', 'has gone back in time', 'looseleaf clean --restart'],
      [back({ to: 0 }), 'between an unknown time and'],
    ],
    well: [well, back({ isSwept: true })],
  },
  'consumer before restore': {
    found: [
      [{ ...back({ isSwept: true }), consumers: [search(ago(DAY))] }, 'consumer search', 'shard one'],
      [{ ...back({}), consumers: [search(undefined)] }, 'looseleaf consumer drop search'],
    ],
    well: [
      { ...well, consumers: [search(ago(DAY))] },
      { ...back({}), consumers: [search(ago(1_000))] },
      { ...back({ foundAt: NOW - 8 * DAY }), consumers: [search(undefined)] },
    ],
  },
  'emptied table': {
    found: [
      [lostRows({}), 'index by_user', 'shard one', 'queries are refused', 'looseleaf clean --index by_user'],
      [lostRows({ unique: true }), 'index by_user (unique)', 'keys that others have'],
      [lostRows({ isFilled: true, generation: 3 }), '(generation 3)', 'was filled again', 'find the program'],
      [lostRows({ foundAt: ago(2 * DAY) }), 'queries are refused'],
    ],
    well: [well, lostRows({ isFilled: true, foundAt: ago(2 * DAY) })],
  },
  'index not added': {
    found: [
      [
        { ...well, configIndexes: [{ index: 'by_mail', isInStore: false, differs: [] }] },
        'index by_mail is in the config and not in the store looseleaf index add by_mail --fill',
      ],
      [
        {
          ...well,
          configIndexes: [{ index: 'by_mail', isInStore: true, differs: ['unique: false → true'] }],
        },
        'index by_mail',
        'unique: false → true',
        'if it is outdated, or run: looseleaf index add by_mail --fill',
      ],
    ],
    well: [well],
  },
  ...moveRuleCases(well),
}

test('many lost codec entries become a few findings and a count of the others', () => {
  const broken = Array.from({ length: 9 }, (_, n) => ({ ...dictionary, id: `${n}` }))
  const found = findingsOf({ ...well, bodies: { ...look, broken } })
  expect(found).toHaveLength(6)
  expect(found[5]!.problem).toBe('4 more shapes or dictionaries are lost or damaged')
})

const textOf = ({ about, problem, instruction }: Finding): string => [about, problem, instruction].join(' ')

test('every rule has cases in this test', () => {
  expect(rules.map(({ name }) => name)).toEqual(Object.keys(cases))
})

describe.each(Object.entries(cases))('%s', (name, { found, well: nothing }) => {
  it.each(found.map((each, i) => [i, ...each] as const))('the rule finds case %i', (_, facts, ...words) => {
    const findings = findingsOf(facts).filter(({ rule }) => rule === name)
    expect(findings).toHaveLength(1)
    for (const word of words) expect(textOf(findings[0]!)).toContain(word)
    expect(findings[0]!.instruction).not.toBe('')
  })

  it('the rule finds nothing within its bounds', () => {
    for (const facts of nothing) expect(findingsOf(facts).map(({ rule }) => rule)).not.toContain(name)
  })
})

test('a shard that does not answer has only one finding', () => {
  const facts = withShard({ error: away, sinceLastRoundMs: undefined, lagMs: undefined })
  expect(findingsOf(facts).map(({ rule }) => rule)).toEqual(['shard'])
})

test('every rule names a heading of the operations page', () => {
  const page = readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8')
  const headings = page.split('\n').flatMap((line) => /^#+ (.+)$/.exec(line)?.[1] ?? [])
  for (const { see } of rules) expect(headings).toContain(see)
})

test('the operations page lists every rule with its grade', () => {
  const page = readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8')
  for (const { name, grade } of rules)
    expect(page).toMatch(new RegExp(`\\| \`${name}\` +\\| \`${grade}\` +\\|`))
})

test('the worst finding comes first and decides the grade', () => {
  const both = { ...withShard({ lagMs: LAG_MS + 1 }), bodies: lost({}).bodies }
  const found = findingsOf(both)
  expect(found.map(({ rule, grade }) => [rule, grade])).toEqual([
    ['codec entries', 'act'],
    ['lag', 'look'],
  ])
  expect([found, found.slice(1), []].map(gradeOf)).toEqual(['act', 'look', 'well'])
})
