import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { createThrottle } from '@looseleaf/protocol/internal'
import { beforeEach, describe, expect, it } from 'vitest'
import { pace } from '../../test/pace.ts'
import {
  addRow,
  byTag,
  byUser,
  entryOf,
  expectedRows,
  openStore,
  removeRow,
  rowFor,
  rowsIn,
} from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { indexTarget, type IndexTarget } from '../pass/index-target.ts'
import { emptyTally } from '../pass/tally.ts'
import { createKeptRemovals } from '../repair/kept-removals.ts'
import type { CleanJob } from './clean-job.ts'
import { createHalts } from './halts.ts'
import type { LeasedParts } from './part-lease.ts'
import { freshPart, type Part } from './part.ts'
import { placeToText } from './place-text.ts'
import type { RunRecord } from './run-record.ts'
import { scanEntities, scanRows } from './shard-scans.ts'

const bag = (i: number) => ({ user_id: 'ada', published: i, tags: [`tag ${i}`] })
const run: RunRecord = {
  run: 'this',
  number: 1,
  state: 'running',
  rewrites: false,
  startedAt: 1,
  finishedAt: 0,
  tally: emptyTally(),
  filled: false,
}
const { signal } = new AbortController()
/** All buckets, which have always been on the only shard. */
const reading = { '-1': '0-4095' }

let time: LeapingTime
let store: DataStore
let ids: string[]
let user: IndexTarget
let tag: IndexTarget
/** Reports and saves, in order. */
let log: string[]
/** Called before each save. */
let onCheckpoint: () => unknown
let operations: string[]
/** Called before each statement. */
let before: (operation: string) => Promise<void>

beforeEach(async () => {
  time = leapingTime()
  log = []
  operations = []
  onCheckpoint = () => undefined
  before = async () => {}
  const driver = faultyDriver(await memoryShards(1).connect(), ({ operation }) => {
    operations.push(operation)
    return { before: () => before(operation) }
  })
  store = await openStore({ driver, time })
  user = indexTarget(store.context, entryOf(store, byUser.name))
  tag = indexTarget(store.context, entryOf(store, byTag.name))
  ids = []
  for (let i = 1; i <= 6; i++) ids.push((await store.put(bag(i))).id)
  operations.length = 0
})

interface Lease {
  readonly target: IndexTarget
  readonly part: Part
  isHeld: boolean
}

const leaseOf = (target: IndexTarget, part: Partial<Part> = {}): Lease => ({
  target,
  part: { ...freshPart('this'), ...part },
  isHeld: true,
})

/** Lets work proceed that waits for nothing. */
async function turn(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

function partsOf(leases: readonly Lease[]): LeasedParts {
  const removals = createKeptRemovals(store.context, (target, count) => {
    for (const lease of leases) if (lease.target === target) lease.part.tally.removed += count
  })
  return {
    leases,
    removals,
    async checkpoint() {
      await turn()
      log.push('save')
      await onCheckpoint()
    },
    async settle() {
      await turn()
      log.push('settle')
      await removals.settle(undefined)
    },
    renew: async () => {},
    release: async () => {},
  }
}

function jobOf(pageSize: number, rewrites = false): CleanJob {
  return {
    context: store.context,
    runs: new Map([user, tag].map((target) => [target, { ...run, rewrites }])),
    lease: { owner: 'me', leaseMs: 30_000, checkpointMs: 0, onRemoved: () => {}, paceOf: () => pace },
    pollMs: 1,
    settleMs: 0,
    shardsAtOnce: 1,
    options: { pageSize },
    halts: createHalts(store.context, [], 0),
    throttle: createThrottle(time, undefined),
    meter: {
      begin: () => {},
      paceOf: () => pace,
      count: (_, rows) => void log.push(`count ${rows}`),
      report(phase, shard, parts) {
        const texts = parts.map(({ index, part }) => `${index} ${part.seen}/${part.total}`)
        log.push([phase, shard, ...texts].join(' '))
      },
    },
    countWork: (_target, _shard, { entities, rows, added }) =>
      void log.push(`did ${entities} ${rows} ${added}`),
  }
}

async function scan(phase: 'entities' | 'check', leases: Lease[], job = jobOf(4)): Promise<void> {
  await scanEntities(job, phase, partsOf(leases), leases, 0, signal)
}

describe('a scan of entities', () => {
  it('a scan of entities saves and reports its progress after each page, including tombstones', async () => {
    await store.delete(ids[5]!)
    await store.settled()
    const lease = leaseOf(user)
    const places: number[] = []
    onCheckpoint = () => places.push(lease.part.addedId)
    await scan('entities', [lease])
    expect(places).toEqual([4, 6])
    expect(log).toEqual([
      'did 4 4 0',
      'count 8',
      'save',
      'entities 0 by_user 4/6',
      // A tombstone has no rows to look up.
      'did 1 1 0',
      'count 3',
      'save',
      'entities 0 by_user 6/6',
      'settle',
    ])
    expect(lease.part).toMatchObject({ phase: 'dangling', seen: 0, addedId: 0, total: 0 })
    expect(lease.part.tally).toMatchObject({ entities: 5, rows: 5 })
  })

  it('a scan of entities begins at the place of the slowest index, and skips entities that others have done', async () => {
    const [behind, ahead] = [leaseOf(user, { addedId: 1, reading }), leaseOf(tag, { addedId: 5, reading })]
    for (const i of [2, 6]) {
      await removeRow(store, 'by_user', rowFor(store, 'by_user', ids[i - 1]!, bag(i), 0))
      await removeRow(store, 'by_tag', rowFor(store, 'by_tag', ids[i - 1]!, bag(i), 0))
    }
    await scan('entities', [behind, ahead])
    expect(behind.part.tally).toMatchObject({ entities: 5, added: 2 })
    expect(ahead.part.tally).toMatchObject({ entities: 1, added: 1 })
    expect([behind.part.phase, ahead.part.phase]).toEqual(['dangling', 'dangling'])
  })

  it('a scan of entities drops an index that another worker took over, and ends once it has none', async () => {
    const [takenOver, kept] = [leaseOf(user), leaseOf(tag)]
    onCheckpoint = () => (takenOver.isHeld = false)
    await scan('entities', [takenOver, kept])
    expect(takenOver.part).toMatchObject({ phase: 'entities', seen: 4 })
    expect(kept.part).toMatchObject({ phase: 'dangling' })
    expect(kept.part.tally.entities).toBe(6)
    const alone = leaseOf(user)
    onCheckpoint = () => (alone.isHeld = false)
    log.length = 0
    await scan('entities', [alone])
    expect(alone.part).toMatchObject({ phase: 'entities', seen: 4 })
    expect(log).not.toContain('settle')
  })

  it('a page leaves out an index that is at its end or behind it', async () => {
    const [behind, ahead] = [leaseOf(user, { addedId: 0, reading }), leaseOf(tag, { addedId: 4, reading })]
    await scan('entities', [behind, ahead])
    // The first page is of the first index alone.
    expect(log.filter((entry) => entry.startsWith('did'))).toEqual(['did 4 4 0', 'did 2 2 0', 'did 2 2 0'])
    const [first, inside] = [leaseOf(user, { addedId: 1, reading }), leaseOf(tag, { addedId: 3, reading })]
    await scan('entities', [first, inside])
    expect([first, inside].map(({ part }) => part.tally.entities)).toEqual([5, 3])
  })

  it('a scan of entities leaves a part after the page in which its filling was halted', async () => {
    const lease = leaseOf(user)
    let isHalted = false
    const halts = {
      async refresh() {
        await turn()
        isHalted = true
      },
      has: () => isHalted,
    }
    await scan('entities', [lease], { ...jobOf(4), halts })
    expect(lease.part).toMatchObject({ phase: 'entities', seen: 4, addedId: 4 })
  })

  it('a scan of entities rewrites existing rows only if the run rewrites', async () => {
    await scan('entities', [leaseOf(user)])
    expect(operations).not.toContain('upsert')
    const lease = leaseOf(user)
    await scan('entities', [lease], jobOf(4, true))
    expect(lease.part.tally.added).toBe(6)
    expect(operations).toContain('upsert')
  })
})

it.each([
  ['cannot be filled', 'building', 'BODY_UNKNOWN'],
  ['is still scanned once it is ready', 'ready', undefined],
] as const)('an index with a body that this process cannot decode %s', async (_, state, code) => {
  const decode = (): never => {
    throw new LooseleafError('BODY_UNKNOWN', 'Unknown.')
  }
  const target = { ...user, entry: { ...user.entry, state } }
  const context = { ...store.context, bodies: { ...store.context.bodies, decode } }
  const lease = leaseOf(target)
  const ended = scan('entities', [lease], { ...jobOf(4), context, runs: new Map([[target, run]]) })
  const failure = await ended.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (code === undefined) expect(failure).toBeUndefined()
  else
    expect(failure).toMatchObject({
      code,
      entity: ids[0],
      message: expect.stringMatching(`${ids[0]!} .*Unknown\\.$`),
    })
  expect(lease.part).toMatchObject({ phase: code === undefined ? 'dangling' : 'entities', addedId: 0 })
})

describe('a check', () => {
  it('a check without missing rows ends the phase, and does not count entities again', async () => {
    const lease = leaseOf(user, { phase: 'check' })
    await scan('check', [lease])
    expect(lease.part).toMatchObject({ phase: 'done', seen: 0 })
    expect(lease.part.tally).toEqual(emptyTally())
  })

  it('a check that found a missing row repeats, with the same total', async () => {
    await removeRow(store, 'by_user', rowFor(store, 'by_user', ids[0]!, bag(1), 0))
    const lease = leaseOf(user, { phase: 'check' })
    const saved: string[] = []
    onCheckpoint = () => saved.push(`${lease.part.phase} ${lease.part.rounds}`)
    await scan('check', [lease])
    expect(saved).toEqual(['check 0', 'check 0', 'check 1', 'check 1'])
    expect(log.filter((entry) => entry.startsWith('check'))).toEqual([
      'check 0 by_user 4/6',
      'check 0 by_user 6/6',
      'check 0 by_user 4/6',
      'check 0 by_user 6/6',
    ])
    expect(lease.part).toMatchObject({ phase: 'done', rounds: 0 })
    expect(lease.part.tally).toMatchObject({ added: 1 })
  })

  it('a check throws after five rounds with missing rows', async () => {
    const lease = leaseOf(user, { phase: 'check' })
    const row = rowFor(store, 'by_user', ids[0]!, bag(1), 0)
    await removeRow(store, 'by_user', row)
    let rounds = 0
    const job = jobOf(100)
    onCheckpoint = async () => {
      rounds++
      await removeRow(store, 'by_user', row)
    }
    await expect(scan('check', [lease], job)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(rounds).toBe(5)
  })
})

describe('a scan of rows', () => {
  async function scanOf(leases: Lease[], pageSize: number): Promise<void> {
    await scanRows(jobOf(pageSize), partsOf(leases), leases, 0, signal)
  }

  it('a scan of rows resumes at its saved place, and counts the rows only if there is more than a page', async () => {
    const small = leaseOf(user, { phase: 'dangling', total: 99 })
    await scanOf([small], 7)
    expect(log).toContain('dangling 0 by_user 6/6')
    expect(operations).not.toContain('count')
    expect(small.part.tally).toMatchObject({ rows: 6 })
    const { row } = rowFor(store, 'by_user', ids[1]!, bag(2), 0)
    const resumed = leaseOf(user, { phase: 'dangling', seen: 2, place: placeToText(row) })
    log.length = 0
    await scanOf([resumed], 6)
    // The total includes the rows before the saved place.
    expect(log).toContain('dangling 0 by_user 6/6')
    expect(resumed.part.tally).toMatchObject({ rows: 4 })
    const large = leaseOf(user, { phase: 'dangling' })
    operations.length = 0
    await scanOf([large], 6)
    expect(operations.filter((entry) => entry === 'count')).toHaveLength(1)
    expect([small, resumed, large].map(({ part }) => part.phase)).toEqual(['check', 'check', 'check'])
  })

  it.each([
    [
      'an index has the number of its rows on the shard as its total, wherever those of its entities are',
      () => user,
      6,
    ],
    ['an index of arrays has the number of rows per element as its total', () => tag, 12],
  ] as const)('%s', async (_, targetOf, total) => {
    const lease = leaseOf(targetOf(), { phase: 'dangling', tally: { ...emptyTally(), rows: 12 } })
    await scanOf([lease], 4)
    expect(log.find((entry) => entry.startsWith('dangling'))).toMatch(new RegExp(`/${total}$`))
  })

  it('a scan of rows deletes the dangling rows of each index, and counts them there', async () => {
    await addRow(store, 'by_user', rowFor(store, 'by_user', ids[0]!, { user_id: 'eve', published: 1 }, 1))
    await addRow(store, 'by_tag', rowFor(store, 'by_tag', ids[0]!, { tags: ['lost'] }, 1))
    await addRow(store, 'by_tag', rowFor(store, 'by_tag', ids[1]!, { tags: ['lost'] }, 1))
    const leases = [leaseOf(user, { phase: 'dangling' }), leaseOf(tag, { phase: 'dangling' })]
    await scanOf(leases, 4)
    expect(leases.map(({ part }) => part.tally)).toMatchObject([
      { rows: 7, removed: 1 },
      { rows: 8, removed: 2 },
    ])
    for (const name of ['by_user', 'by_tag'])
      expect(await rowsIn(store, name)).toEqual(await expectedRows(store, name))
    expect(log.filter((entry) => entry.startsWith('count'))).toEqual([
      'count 4',
      'count 3',
      'count 4',
      'count 4',
    ])
    expect(log.at(-1)).toBe('settle')
  })

  it('a scan of rows leaves a part whose filling was halted', async () => {
    const lease = leaseOf(user, { phase: 'dangling' })
    let isHalted = false
    const halts = {
      async refresh() {
        await turn()
        isHalted = true
      },
      has: () => isHalted,
    }
    await scanRows({ ...jobOf(2), halts }, partsOf([lease]), [lease], 0, signal)
    expect(lease.part).toMatchObject({ phase: 'dangling', seen: 0 })
    expect(operations.filter((entry) => entry === 'scan')).toHaveLength(1)
  })

  it('a scan of rows works on 16 pages at a time, and leaves a part that another worker took over', async () => {
    for (let i = 7; i <= 20; i++) ids.push((await store.put(bag(i))).id)
    const lease = leaseOf(user, { phase: 'dangling' })
    // The work on a group is slower than a save.
    before = async (operation) => {
      if (operation !== 'readBounded') return
      await turn()
      await turn()
    }
    await scanOf([lease], 1)
    expect(lease.part).toMatchObject({ phase: 'check', seen: 0 })
    expect(log.filter((entry) => entry.startsWith('count'))).toEqual(Array(20).fill('count 1'))
    expect(log.filter((entry) => entry.startsWith('did'))).toEqual(['did 0 16 0', 'did 0 4 0'])
    // The page that completes a group is worked on before the save.
    expect(log.slice(0, log.indexOf('did 0 16 0')).filter((entry) => entry === 'save')).toHaveLength(15)
    expect(operations.filter((entry) => entry === 'count')).toHaveLength(1)
    const takenOver = leaseOf(user, { phase: 'dangling' })
    let saves = 0
    onCheckpoint = () => (takenOver.isHeld = ++saves < 3)
    log.length = 0
    await scanOf([takenOver], 2)
    expect(takenOver.part).toMatchObject({
      phase: 'dangling',
      seen: 6,
      place: placeToText(rowFor(store, 'by_user', ids[5]!, bag(6), 0).row),
    })
    expect(log.filter((entry) => entry === 'save')).toHaveLength(3)
  })
})
