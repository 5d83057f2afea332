import type { Driver, DriverFactory, IndexDefinitionData } from '@looseleaf/core'
import type { TaskTable } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog, hasIndexTable, isClaimsOf, isInUse } from '@looseleaf/index-engine/internal'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { createRandom } from '@looseleaf-tooling/kit/random'
import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { replaceLostIndexes } from './replace-lost-indexes.ts'

// Two processes change one unique index at the same time, as after a lease that has expired. The first stops between any two of its
// statements, the second makes some of its own, then the first ends, then the second.

const mail = { properties: { mail: 'string' }, shardOn: 'mail', unique: true } as const
const plain = defineIndex('by_mail', mail)
const listed = defineIndex('by_mail', { ...mail, include: ['title'] })
const lower = defineIndex('by_mail', { ...mail, properties: { mail: { type: 'string', key: 'lower' } } })

const changes: Readonly<Record<string, (store: DataStore) => Promise<unknown>>> = {
  'add plain': (store) => store.addIndex(plain),
  'add listed': (store) => store.addIndex(listed),
  'add lower': (store) => store.addIndex(lower),
  'drop all': (store) => store.dropIndex('by_mail'),
  'drop plain': (store) => store.dropIndex(plain),
  'drop listed': (store) => store.dropIndex(listed),
  'hide all': (store) => store.hideIndex('by_mail'),
  'restore plain': (store) => store.restoreIndex(plain),
  'begin anew': (store) => replaceLostIndexes(store.context),
}

interface Start {
  readonly indexes: readonly IndexDefinitionData[]
  readonly isHidden?: boolean
  /** Missing tables. */
  readonly lost?: readonly string[]
}

const starts: readonly (readonly [string, Start])[] = [
  ['nothing', { indexes: [] }],
  ['one generation', { indexes: [plain] }],
  ['one that is hidden', { indexes: [plain], isHidden: true }],
  ['two generations', { indexes: [plain, listed] }],
  ['one without its rows', { indexes: [plain], lost: ['index_by_mail'] }],
  ['one without its claims', { indexes: [plain], lost: ['claims_by_mail'] }],
  ['two, one of them without its rows', { indexes: [plain, listed], lost: ['index_by_mail'] }],
  ['one that is hidden, without its rows', { indexes: [plain], isHidden: true, lost: ['index_by_mail'] }],
  [
    'one that is hidden, without its tables',
    { indexes: [plain], isHidden: true, lost: ['index_by_mail', 'claims_by_mail'] },
  ],
  ['two without their claims', { indexes: [plain, listed], lost: ['claims_by_mail'] }],
]

/** A process that is advanced statement by statement. */
interface Process {
  /** Makes this many statements, or the remaining ones. */
  play(statements: number): Promise<void>
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function startProcess(
  driver: Driver,
  change: (store: DataStore) => Promise<unknown>,
): Promise<Process> {
  const waiting: (() => void)[] = []
  let isHeld = false
  const held = faultyDriver(driver, () =>
    isHeld ? { before: () => new Promise<void>((resolve) => waiting.push(resolve)) } : undefined,
  )
  const store = await openOn(held)
  isHeld = true
  let isDone = false
  const work = change(store).finally(() => (isDone = true))
  work.catch(() => undefined)
  return {
    async play(statements) {
      for (let made = 0; made < statements && !isDone;) {
        const next = waiting.shift()
        if (next !== undefined) made++
        next?.()
        await turn()
      }
      if (isDone) await work
    },
  }
}

function openOn(driver: Driver): Promise<DataStore> {
  const shards: DriverFactory = { shardCount: driver.shards.length, connect: async () => driver }
  return DataStore.open({ shards, indexes: [], migrate: true, onWarning: () => undefined })
}

/** Makes two shards that give the lease to every process. */
function withoutLease(): Driver {
  const driver = createReferenceDriver({ shards: 2 })
  const claim: TaskTable['claim'] = async (_, owner) => ({ progress: '', owner })
  return {
    ...driver,
    shards: driver.shards.map((shard) => ({ ...shard, tasks: { ...shard.tasks, claim } })),
  }
}

async function begin(driver: Driver, { indexes, isHidden }: Start): Promise<void> {
  const store = await openOn(driver)
  for (const index of indexes) await store.addIndex(index)
  await changeCatalog(driver, (entries) =>
    entries.map((entry) => (entry.state === 'building' ? { ...entry, state: 'ready' } : entry)),
  )
  if (isHidden) await store.hideIndex('by_mail')
}

/** Returns the inconsistencies that no order of the two changes may leave. */
async function wrongs({ shards }: Driver, { lost = [] }: Start): Promise<string[]> {
  const wrong: string[] = []
  const [first, second] = await Promise.all(shards.map(({ catalog }) => catalog.load()))
  if (JSON.stringify(first!.indexes) !== JSON.stringify(second!.indexes)) wrong.push('catalogs differ')
  const used = first!.indexes.filter(isInUse)
  const claims = used.filter(({ unique }) => unique)
  const rows = used.filter(({ unique }) => !unique)
  for (const entry of rows) {
    const claimsOfEntry = claims.filter((each) => isClaimsOf(each, entry))
    if (claimsOfEntry.length !== 1) wrong.push(`${entry.table} has ${claimsOfEntry.length} tables of claims`)
    if (!entry.hidden && claimsOfEntry.some(({ hidden }) => hidden))
      wrong.push(`${entry.table} is shown, its claims are not`)
  }
  for (const each of claims)
    if (!rows.some((entry) => isClaimsOf(each, entry))) wrong.push(`${each.table} is of no index`)
  for (const entry of first!.indexes) {
    const present = await Promise.all(shards.map((shard) => hasIndexTable(shard, entry)))
    if (isInUse(entry) && present.includes(false) && !lost.includes(entry.table))
      wrong.push(`${entry.table} is missing`)
    if (!isInUse(entry) && present.includes(true)) wrong.push(`${entry.table} is left, ${entry.state}`)
  }
  return wrong
}

const LIVES = isLong ? 200 : 35
const MAX_STATEMENTS = 45

it.each(starts)('two processes that change %s at once leave consistent indexes', async (_, start) => {
  const random = createRandom(7)
  const names = Object.keys(changes)
  for (let life = 0; life < LIVES; life++) {
    const [one, other] = [random.pick(names), random.pick(names)]
    const driver = withoutLease()
    await begin(driver, start)
    const first = await startProcess(driver, changes[one]!)
    const second = await startProcess(driver, changes[other]!)
    for (const table of start.lost ?? [])
      for (const shard of driver.shards) await shard.dropIndexTable({ table, columns: [] })
    const [before, between] = [random.below(MAX_STATEMENTS), 1 + random.below(MAX_STATEMENTS)]
    await first.play(before)
    await second.play(between)
    await first.play(Infinity)
    await second.play(Infinity)
    expect(await wrongs(driver, start), `${one}, ${before}; ${other}, ${between}`).toEqual([])
  }
})
