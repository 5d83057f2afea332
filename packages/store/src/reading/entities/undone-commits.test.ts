import { setTimeout as sleep } from 'node:timers/promises'
import {
  createReferenceDriver,
  type ReferenceDriver,
  type ShardState,
} from '@looseleaf-tooling/kit/reference-driver'
import type { Driver } from '@looseleaf/core'
import { faultyDriver, keepOpen, type FaultPlan, type FaultyCall } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'

/*
 * 1. A server shows a commit before it is durable, and a follower reads the new state.
 * 2. A crash undoes the commit. The replaced state is back, at a time before the place of the follower.
 * 3. The follower would never read that state again.
 */

let reference: ReferenceDriver
let store: DataStore
let plan: FaultPlan
let sent: string[]
/** Connections opened so far; undefined for a driver without that number. */
let opened: number | undefined
/** The durable state of the shard while its log hangs. */
let onDisk: ShardState | undefined

beforeEach(async () => {
  reference = createReferenceDriver({ shards: 1 })
  plan = () => undefined
  sent = []
  opened = undefined
  onDisk = undefined
  store = await openStore()
})

async function openStore(cache?: {
  readonly maxBytes: number
  readonly maxStalenessMs: number
}): Promise<DataStore> {
  const [shard] = reference.shards
  const connections = () =>
    opened === undefined ? undefined : { open: 1, opened, idle: 0, limit: 1, waiting: 0, refusal: undefined }
  const driver: Driver = { shards: [{ ...shard!, connections }], close: async () => {} }
  const faulty = faultyDriver(driver, (call) => {
    sent.push(call.operation)
    return plan(call)
  })
  return DataStore.open({ shards: keepOpen(faulty), migrate: true, ...(cache && { cache }) })
}

function hang(): void {
  onDisk = reference.shards[0]!.state()
}

function crash(): void {
  reference.shards[0]!.fallBack(onDisk!, 'everything')
  onDisk = undefined
  if (opened !== undefined) opened++
}

/** Runs an action once, before the first call that meets the condition. */
function once(
  holds: (call: FaultyCall) => boolean,
  act: () => unknown,
  next: FaultPlan = () => undefined,
): FaultPlan {
  return (call) => {
    if (!holds(call)) return undefined
    plan = next
    return { before: async () => void (await act()) }
  }
}

const isOf =
  (operation: string) =>
  (call: FaultyCall): boolean =>
    call.operation === operation

/** Returns the values of `n` that a follower from the beginning receives up to `last`. */
async function follow(last: unknown): Promise<unknown[]> {
  const given: unknown[] = []
  for await (const { entity } of store.changes({
    from: 'beginning',
    pollMs: 10,
    signal: AbortSignal.timeout(5_000),
  })) {
    given.push(entity?.['n'])
    if (entity?.['n'] === last) break
  }
  return given
}

describe('a crash that undoes a visible commit', () => {
  /** Replaces the entity while the first page is read, and undoes that before the flush after the page. */
  const undoneBehindPage = (id: string): FaultPlan =>
    once(
      isOf('pageOfChanges'),
      async () => {
        hang()
        await store.put({ n: 'undone' }, { id })
      },
      once(isOf('flush'), crash),
    )

  it.each([
    ['a driver that says when it has connected anew', 1],
    ['a driver that does not', undefined],
  ])('a follower over %s receives a state whose replacement a crash has undone', async (_, connections) => {
    opened = connections
    const { id } = await store.put({ n: 'stays' })
    await store.put({ n: 'other' })
    // The floor is raised first, so that the flush after the page is the next one.
    await reference.shards[0]!.entities.raiseFloor()
    plan = once(isOf('raiseFloor'), () => {}, undoneBehindPage(id))
    const given = await follow('other')
    expect(given).toContain('stays')
    expect(given).not.toContain('undone')
  })

  it('a follower receives a state that was replaced while its long body was read, and came back in a crash', async () => {
    const { id } = await store.put({ n: 'stays', text: Array.from({ length: 20_000 }, Math.random).join() })
    await store.put({ n: 'other' })
    // Looks at the shard, so that the next floor is the follower's.
    await store.get(id)
    const undoneBehindBody = once(
      isOf('read'),
      async () => {
        hang()
        await store.put({ n: 'undone' }, { id })
      },
      once(isOf('floor'), crash),
    )
    plan = once(isOf('flush'), () => {}, undoneBehindBody)
    expect(await follow('other')).toContain('stays')
  })

  it('a cache that follows changes does not keep a commit that a crash has undone', async () => {
    opened = 1
    const own = (store = await openStore({ maxBytes: 1_000_000, maxStalenessMs: 200 }))
    const { id } = await own.put({ n: 'stays' })
    await own.get(id)
    while (!own.stats().cache!.followed!.hits) {
      await sleep(5)
      await own.get(id)
    }
    hang()
    await own.put({ n: 'undone' }, { id })
    expect((await own.get(id))!['n']).toBe('undone')
    crash()
    const from = Date.now()
    while ((await own.get(id))!['n'] !== 'stays') await sleep(5)
    expect(Date.now() - from).toBeLessThan(2_000)
    await own.close()
  })
})

describe('the flushes of a follower', () => {
  it('a follower flushes once for each page with changes, and an idle one only raises the floor', async () => {
    opened = 1
    await store.putMany(Array.from({ length: 1_200 }, (_, n) => ({ n })))
    sent.length = 0
    let pages = 0
    const ended = new AbortController()
    let quiet: string[] | undefined
    plan = ({ operation }) => {
      if (operation === 'pageOfChanges' && ++pages === 4) quiet = sent.splice(0)
      if (pages === 10) ended.abort()
      return undefined
    }
    const reading = (async () => {
      for await (const change of store.changes({ from: 'beginning', pollMs: 10, signal: ended.signal }))
        void change
    })()
    await reading
    const count = (calls: readonly string[], operation: string): number =>
      calls.filter((each) => each === operation).length
    // A page with changes has a raise or a flush for its floor, and a flush after it.
    expect(count(quiet!, 'flush') + count(quiet!, 'raiseFloor')).toBeLessThanOrEqual(2 * 4)
    expect(count(sent, 'flush') + count(sent, 'raiseFloor')).toBeLessThanOrEqual(7)
  })
})
