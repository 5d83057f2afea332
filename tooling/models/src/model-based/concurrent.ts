import { sweep } from '@looseleaf/cleaner'
import { tunedCheckIndex, tunedCleanIndex } from '@looseleaf/cleaner/internal'
import { isLooseleafError, metaOf, type Bag, type Entity } from '@looseleaf/core'
import { DataStore } from '@looseleaf/store'
import { withoutPauses } from '@looseleaf/testkit'
import fc from 'fast-check'
import type { Backend, Databases } from './backend.ts'
import { asStored, canonical } from './canonical.ts'
import { optionsOf, queryPlans, requestOf, type QueryPlan } from './commands/query-request.ts'
import { baseIndexes, passingIndexes } from './indexes.ts'
import { matches, Oracle } from './oracle.ts'
import { rowsOf } from './oracle-rows.ts'
import { assertReplayable } from './replay.ts'
import { propertySettings } from './settings.ts'
import { bags } from './values.ts'

const CLIENTS = 4
const SHARDS = 2

/** Index that clients add during the run. */
const more = passingIndexes.find(({ name }) => name === 'more')!

/** One operation of a client. Numbers select one of its own entities or a shared one. */
type Operation =
  | { readonly kind: 'put' | 'merge'; readonly own: number; readonly bag: Bag }
  | { readonly kind: 'delete' | 'get'; readonly own: number }
  | { readonly kind: 'put shared' | 'merge shared'; readonly shared: number; readonly bag: Bag }
  | { readonly kind: 'get shared'; readonly shared: number }
  | { readonly kind: 'find'; readonly plan: QueryPlan }
  | { readonly kind: 'increment' | 'increment by version' | 'insert' | 'add index' }

const own = fc.nat(2)
const shared = fc.nat(2)
const operations: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('put', 'merge'), own, bag: bags }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('delete', 'get'), own }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('put shared', 'merge shared'), shared, bag: bags }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('get shared'), shared }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('find'), plan: queryPlans }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('increment', 'increment by version') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('insert', 'add index') }) },
)

/** Operations of one client run in sequence, those of different clients concurrently. */
const histories = fc.array(fc.array(operations, { maxLength: 14, size: 'max' }), {
  minLength: CLIENTS,
  maxLength: CLIENTS,
})

/**
 * Checks the promises for several clients that write concurrently, through two stores on the same databases.
 */
export async function checkConcurrently(backend: Backend, runs: number, file: string): Promise<void> {
  const property = fc.asyncProperty(histories, async (history) => {
    const databases = await backend.create(SHARDS)
    const stores = [await open(databases, true), await open(databases, false)] as const
    try {
      const all = createShared(stores[0])
      await Promise.all(history.map((steps, number) => runClient(number, steps, stores, all)))
      await checkAtRest(stores, all)
    } finally {
      for (const store of stores) await store.close()
      await databases.drop()
    }
  })
  await assertReplayable(property, propertySettings(runs), file)
}

/** Entities that all clients write, and the answers. */
interface Shared {
  readonly ids: readonly string[]
  readonly counter: string
  readonly contested: string
  /** Acknowledged writes of each shared entity, by version. */
  readonly writes: readonly Map<number, string>[]
  /** Reads of shared entities, with the greatest version that was acknowledged before each. */
  readonly reads: { readonly entity: number; readonly version: number; readonly text: string }[]
  increments: number
  inserted: number
}

function createShared(store: DataStore): Shared {
  const ids = [store.newId(), store.newId(), store.newId()]
  return {
    ids,
    counter: store.newId(),
    contested: store.newId(),
    writes: ids.map(() => new Map()),
    reads: [],
    increments: 0,
    inserted: 0,
  }
}

async function runClient(
  number: number,
  steps: readonly Operation[],
  stores: readonly [DataStore, DataStore],
  all: Shared,
): Promise<void> {
  const ids = [stores[0].newId(), stores[0].newId(), stores[0].newId()]
  // Entities of one writer behave as in a store with one client.
  const oracle = new Oracle(baseIndexes)
  for (const [i, step] of steps.entries()) {
    // Alternates between the stores: each must see writes that the other one acknowledged.
    const store = stores[(number + i) % 2]!
    switch (step.kind) {
      case 'put':
      case 'merge': {
        const id = ids[step.own]!
        const bag = step.kind === 'put' ? step.bag : { ...oracle.entities.get(id), ...step.bag }
        const isThere = oracle.entities.has(id)
        const expected = refusalOf(() => oracle.put(id, bag))
        const write = (): Promise<unknown> =>
          step.kind === 'put' || !isThere
            ? store.put(bag, { id })
            : store.update(id, (found) => ({ ...found, ...step.bag }))
        expectSame(`client ${number}, step ${i}`, await errorCodeOf(write), expected)
        break
      }
      case 'delete':
        expectSame(
          `delete by client ${number}`,
          await store.delete(ids[step.own]!),
          oracle.delete(ids[step.own]!, true),
        )
        break
      case 'get': {
        const id = ids[step.own]!
        const bag = oracle.entities.get(id)
        expectSame(`get by client ${number}`, await store.get(id), bag && { ...bag, id })
        break
      }
      case 'put shared':
      case 'merge shared':
        await writeShared(store, step, all)
        break
      case 'get shared':
        await readShared(store, step.shared, all)
        break
      case 'find':
        await find(store, step.plan, oracle, ids)
        break
      case 'increment':
        await store.put({ n: 0 }, { id: all.counter, ifVersion: 0 }).catch(unlessCode('VERSION_MISMATCH'))
        await store.update(all.counter, (bag) => ({ ...bag, n: Number(bag['n']) + 1 }))
        all.increments++
        break
      case 'increment by version': {
        const found = await store.get(all.counter)
        if (found === undefined) break
        const options = { id: all.counter, ifVersion: metaOf(found)!.version }
        const code = await errorCodeOf(() => store.put({ n: Number(found['n']) + 1 }, options))
        if (code === undefined) all.increments++
        else expectSame('a write by version', code, 'VERSION_MISMATCH')
        break
      }
      case 'insert': {
        const code = await errorCodeOf(() => store.insert({ n: number }, { id: all.contested }))
        if (code === undefined) all.inserted++
        else expectSame('an insert', code, 'ALREADY_EXISTS')
        break
      }
      case 'add index':
        await store.addIndex(more)
        await tunedCleanIndex(store, 'more', { settleMs: 0, pollMs: 1, graceMs: 0 })
    }
  }
}

async function writeShared(
  store: DataStore,
  step: { readonly kind: string; readonly shared: number; readonly bag: Bag },
  all: Shared,
): Promise<void> {
  const id = all.ids[step.shared]!
  let written: Bag = step.bag
  try {
    const isThere = step.kind === 'merge shared' && all.writes[step.shared]!.size > 0
    const { version } = isThere
      ? await store.update(id, (found) => (written = { ...found, ...step.bag }))
      : await store.put(written, { id })
    const acknowledged = all.writes[step.shared]!
    if (acknowledged.has(version)) throw new Error(`Two writes of ${id} were given version ${version}.`)
    acknowledged.set(version, canonical(asStored(written)))
  } catch (error) {
    unlessCode('BAD_INDEX_VALUE')(error)
  }
}

async function readShared(store: DataStore, entity: number, all: Shared): Promise<void> {
  const before = Math.max(0, ...all.writes[entity]!.keys())
  const found = await store.get(all.ids[entity]!)
  const version = found === undefined ? 0 : metaOf(found)!.version
  if (version < before) throw new Error(`Version ${before} was acknowledged, and then ${version} was read.`)
  if (found !== undefined) all.reads.push({ entity, version, text: textOf(found) })
}

/**
 * Checks that a client's own entities are found exactly if they match, in order, and that no other result
 * fails to match.
 */
async function find(
  store: DataStore,
  plan: QueryPlan,
  oracle: Oracle,
  ids: readonly string[],
): Promise<void> {
  const request = requestOf(plan, oracle)
  if (!baseIndexes.includes(request.index)) return
  const expected = refusalOf(() => oracle.query(request.index, request.where, request))
  let found: Entity[] = []
  const code = await errorCodeOf(async () => {
    found = await store.getAll(request.index, request.where as never, optionsOf(request))
  })
  expectSame('a query', code, expected)
  if (code !== undefined) return
  for (const { id, ...bag } of found) {
    if (!rowsOf(request.index, bag).rows.some((row) => matches(request.index, request.where, row))) {
      throw new Error(`${id} was found by ${request.index.name} but does not match.`)
    }
  }
  const mine = found.filter(({ id }) => ids.includes(id)).map(({ id }) => id)
  const wanted = oracle.query(request.index, request.where, request).map(({ id }) => id)
  expectSame(`own entities in ${request.index.name}`, mine, wanted)
}

/** Checks after all writes that none was lost, and that one sweep makes every index exact. */
async function checkAtRest(stores: readonly [DataStore, DataStore], all: Shared): Promise<void> {
  for (const store of stores) await store.settled()
  const [store] = stores
  for (const [entity, writes] of all.writes.entries()) {
    const found = await store.get(all.ids[entity]!)
    const last = Math.max(0, ...writes.keys())
    expectSame('the last version', found === undefined ? 0 : metaOf(found)!.version, last)
    if (found !== undefined) expectSame('the last write', textOf(found), writes.get(last))
  }
  for (const { entity, version, text } of all.reads) {
    expectSame('what was read', text, all.writes[entity]!.get(version))
  }
  expectSame('increments', (await store.get(all.counter))?.['n'] ?? 0, all.increments)
  expectSame(
    'entities under the contested id',
    (await store.get(all.contested)) === undefined ? 0 : 1,
    all.inserted,
  )

  await sweep(store, { graceMs: 0 })
  const oracle = new Oracle([])
  for await (const { id, ...bag } of store.scan()) oracle.entities.set(id, bag)
  for (const { name } of await store.indexes()) {
    const { rows, missing, dangling, misplaced, entities } = await tunedCheckIndex(store, name, {
      settleMs: 0,
    })
    const index = [...baseIndexes, more].find((definition) => definition.name === name)!
    const wanted = {
      rows: oracle.rowCount(index),
      missing: 0,
      dangling: 0,
      misplaced: 0,
      entities: oracle.entities.size,
    }
    expectSame(`index ${name}`, { rows, missing, dangling, misplaced, entities }, wanted)
  }
}

function open(databases: Databases, migrate: boolean): Promise<DataStore> {
  return DataStore.open({
    shards: databases.shards,
    indexes: baseIndexes,
    migrate,
    onWarning: () => {},
    time: withoutPauses,
  })
}

function textOf({ id: _, ...bag }: Entity): string {
  return canonical(bag)
}

function expectSame(what: string, actual: unknown, expected: unknown): void {
  if (canonical(actual) === canonical(expected)) return
  throw new Error(`${what}: ${canonical(actual)} instead of ${canonical(expected)}`)
}

function refusalOf(call: () => unknown): string | undefined {
  try {
    call()
    return undefined
  } catch (error) {
    return (error as { code: string }).code
  }
}

async function errorCodeOf(call: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await call()
    return undefined
  } catch (error) {
    if (isLooseleafError(error)) return error.code
    throw error
  }
}

function unlessCode(code: string): (error: unknown) => void {
  return (error) => {
    if (!isLooseleafError(error) || error.code !== code) throw error
  }
}
