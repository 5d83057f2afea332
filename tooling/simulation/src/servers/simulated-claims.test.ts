import { isDeepStrictEqual } from 'node:util'
import type { ClaimTable, EntityTable, IndexRow } from '@looseleaf/core/internal'
import { createRandom } from '@looseleaf-tooling/kit/random'
import { createReferenceDriver, type ReferenceShard } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { createDisk, type Disk } from './disk.ts'
import { noFaults, type FaultKind, type Faults } from '../faults/faults.ts'
import { createLife } from '../steps/life.ts'
import { createScheduler, type Scheduler } from '../steps/scheduler.ts'
import { simulatedDriver } from './simulated-driver.ts'

const spec = { table: 'ix_claims', columns: [{ name: 'n', type: 'integer' }], unique: true } as const
const claim = (entity: number, version: number): IndexRow => ({
  key: [1n],
  entityId: Buffer.alloc(16, entity),
  version,
})

let shard: ReferenceShard
let disk: Disk
let scheduler: Scheduler
let claims: ClaimTable
let entities: EntityTable
let faults: Faults

let counted: FaultKind[]

beforeEach(() => begin(1))

async function begin(seed: number): Promise<void> {
  const random = createRandom(seed)
  const driver = createReferenceDriver({ shards: 1 })
  shard = driver.shards[0] as ReferenceShard
  await shard.createIndexTable(spec)
  disk = createDisk(shard, random)
  scheduler = createScheduler(random, () => undefined)
  faults = noFaults
  counted = []
  const network = {
    scheduler,
    random,
    faults: () => faults,
    belatedSteps: () => 0,
    count: (kind: FaultKind) => void counted.push(kind),
    down: new Set<number>(),
    disks: [disk],
  }
  const simulated = simulatedDriver(driver, createLife('one'), network).shards[0]!
  claims = simulated.claims(spec)
  entities = simulated.entities
}

/** Runs statements and returns the outcome of a call: its answer, its error code, or "no answer". */
async function outcome(call: Promise<unknown>): Promise<unknown> {
  let found: unknown = 'no answer'
  call.then(
    (answer) => (found = answer),
    (error: { code?: unknown }) => (found = error.code),
  )
  while (await scheduler.step());
  return found
}

describe('on a disk that hangs', () => {
  it.each<[what: string, call: () => Promise<unknown>, changes: boolean]>([
    ['a take that gets the key', () => claims.take([{ ...claim(1, 9), key: [2n] }]), true],
    ['a take that raises a stamp', () => claims.take([claim(1, 9)]), true],
    ['a take that changes nothing', () => claims.take([claim(1, 1)]), false],
    ['a swap', () => claims.swap(claim(1, 5), claim(2, 6)), true],
  ])('%s is not answered before it is written, and may be gone with a crash', async (_, call, changes) => {
    const before = [claim(1, 5)]
    let gone = 0
    for (let seed = 1; seed <= 20; seed++) {
      await begin(seed)
      await shard.claims(spec).take(before)
      disk.hang()
      // Some callers give up.
      expect(['no answer', 'OUTCOME_UNKNOWN']).toContain(await outcome(call()))
      const changed = shard.index(spec).rows
      expect(isDeepStrictEqual(changed, before)).toBe(!changes)
      disk.crash()
      if (isDeepStrictEqual(shard.index(spec).rows, before)) gone++
      else expect(shard.index(spec).rows).toEqual(changed)
    }
    expect(gone).toBeGreaterThan(0)
  })

  it('a swap that finds another claim is answered at once', async () => {
    disk.hang()
    expect(await outcome(claims.swap(claim(1, 5), claim(2, 6)))).toBe(false)
  })
})

it('a take or a swap without an answer has an unknown outcome, and takes place', async () => {
  faults = { ...noFaults, errorAfter: 1 }
  expect(await outcome(claims.take([claim(1, 5)]))).toBe('OUTCOME_UNKNOWN')
  expect(await outcome(claims.swap(claim(1, 5), claim(2, 6)))).toBe('OUTCOME_UNKNOWN')
  expect(shard.index(spec).rows).toEqual([claim(2, 6)])
})

it('a take or a swap may take place twice', async () => {
  faults = { ...noFaults, duplicate: 1 }
  expect(await outcome(claims.take([claim(1, 5)]))).toEqual([claim(1, 5)])
  expect(await outcome(claims.swap(claim(1, 5), claim(2, 6)))).toBe(true)
  expect(counted).toEqual(['duplicate', 'duplicate'])
  expect(shard.index(spec).rows).toEqual([claim(2, 6)])
})

it('a take that is refused has taken nothing', async () => {
  faults = { ...noFaults, errorBefore: 1 }
  expect(await outcome(claims.take([claim(1, 5)]))).toBe('SHARD_UNAVAILABLE')
  expect(shard.index(spec).rows).toEqual([])
})

describe('a commit that comes twice', () => {
  const id = Buffer.alloc(16, 2)
  const body = Uint8Array.of(1)
  const fields = { storeId: 'store', shardNumber: 0, shardCount: 1, router: 'router', codec: 'codec' }
  const commit = { id, base: 3, version: 6, body, local: { claims: [{ spec, rows: [claim(2, 6)] }] } }

  beforeEach(async () => {
    await shard.catalog.init({ epoch: 1, ...fields, indexes: [] })
    faults = { ...noFaults, duplicate: 1 }
  })

  it.each([
    ['an insert', () => entities.insert([commit], { epoch: 1 }), undefined],
    ['a swap', () => entities.replace([commit], { epoch: 1 }), 3],
    ['a batch', () => entities.writeAll([commit], { epoch: 1 }), 3],
  ])('%s that was refused a key does not take place once the key is free', async (_, send, version) => {
    if (version !== undefined) await shard.entities.insert([{ id, version, body }], { epoch: 1 })
    await shard.claims(spec).take([claim(1, 5)])
    const refused = send().catch(async ({ code }) => {
      await shard.index(spec).remove([{ ...claim(1, 5), before: 6 }])
      return code as unknown
    })
    expect(await outcome(refused)).toBe('DUPLICATE_KEY')
    expect(counted).toEqual(['duplicate'])
    expect(shard.index(spec).rows).toEqual([])
    expect((await shard.entities.readVersions([id]))[0]).toBe(version)
  })

  it('a swap that has lost arrives again', async () => {
    await shard.entities.insert([{ id, version: 4, body }], { epoch: 1 })
    expect(await outcome(entities.replace([commit], { epoch: 1 }))).toEqual([false])
    expect(scheduler.log).toHaveLength(2)
  })
})
