import { readConsumers } from '@looseleaf/changes'
import { readCleanerReport } from '@looseleaf/cleaner'
import { readEmptiedTables, readRewinds } from '@looseleaf/cleaner/internal'
import { isLooseleafError, type IndexDefinitionData, type LooseleafError } from '@looseleaf/core'
import { isOutage, platformTime } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import {
  inspectBodies,
  ownerFaults,
  probeShards,
  readFailures,
  readReplicas,
  type BodyInspection,
  type ShardProbe,
} from '@looseleaf/store/internal'
import { planIndexes } from '../indexes/plan-add.ts'
import { exitCodeOf, exitCodes } from '../running/exit-codes.ts'
import type { Invocation } from '../running/invocation.ts'
import type { ConfigIndex, Facts } from './facts.ts'

/** Size of the sample of bodies per shard: this many of the oldest, and this many of the newest. */
export const SAMPLED_BODIES = 100

/** Decodes a sample of stored bodies. Returns undefined if the store cannot be read. */
export type ReadBodies = (invocation: Invocation) => Promise<BodyInspection | undefined>

/** Writes a small row on each shard and returns the results. */
export type ProbeShards = (invocation: Invocation) => Promise<readonly ShardProbe[]>

/** Reads the facts about the invocation's store. A shard that does not answer or refuses becomes a fact, not an error. */
export async function readFacts(
  invocation: Invocation,
  bodiesOf: ReadBodies = readBodies,
  probesOf: ProbeShards = probe,
): Promise<Facts> {
  const { report, error } = await readReport(invocation)
  // Read after the report, or the times in the report would be in the future.
  const now = platformTime.now()
  // A shard may refuse the report and still answer the rest.
  const isKnown = report !== undefined || (!isOutage(error) && (await hasCatalog(invocation)))
  const policies = isKnown ? (await invocation.openStore()).context.catalog.current().policies : undefined
  const more = isKnown
    ? await readMore(invocation, bodiesOf, probesOf)
    : {
        bodies: undefined,
        consumers: [],
        replicas: [],
        probes: [],
        failures: [],
        wentBack: [],
        lostRows: [],
        shards: [],
        moves: [],
        ownerFaults: [],
        configIndexes: [],
      }
  return { now, report, error, policies, ...more }
}

/** Reads the facts beside the cleaners' report. Leaves out facts of a failing shard, which the rules `shard` and `writes` report. */
export async function readMore(
  invocation: Invocation,
  bodiesOf: ReadBodies = readBodies,
  probesOf: ProbeShards = probe,
): Promise<Omit<Facts, 'now' | 'report' | 'error' | 'policies'>> {
  const { signal } = invocation
  const store = await invocation.openStore({ warn: false })
  const read = await allOf({
    bodies: bodiesOf(invocation),
    consumers: emptyOnStoreError(readConsumers(store, { signal })),
    replicas: readReplicas(store.context, { signal }),
    probes: probesOf(invocation),
    failures: readFailures(store.context, { signal }),
    wentBack: emptyOnStoreError(readRewinds(store, { signal })),
    lostRows: emptyOnStoreError(readEmptiedTables(store, { signal })),
    shards: emptyOnStoreError(store.shards.list({ signal })),
    moves: emptyOnStoreError(store.shards.moves({ signal })),
    ownerFaults: emptyOnStoreError(ownerFaults(store.context, { signal })),
  })
  return { ...read, configIndexes: indexesToAdd(store, (await invocation.settings()).indexes) }
}

async function allOf<T extends object>(parts: { readonly [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const entries = Object.entries<Promise<unknown>>(parts)
  const values = await Promise.all(entries.map(async ([name, part]) => [name, await part] as const))
  return Object.fromEntries(values) as T
}

/** Returns the indexes of the config that `looseleaf index add` would change. */
function indexesToAdd(store: DataStore, definitions: readonly IndexDefinitionData[]): readonly ConfigIndex[] {
  // The catalog of a silent shard may have the index.
  if (store.context.catalog.latest().silent.length > 0) return []
  return (
    planIndexes(store, definitions)
      // An operator hides an index on purpose.
      .filter(({ action }) => action !== 'nothing' && action !== 'restore')
      .map(({ index, action, differs }) => ({ index, isInStore: action !== 'new', differs }))
  )
}

export const probe: ProbeShards = async ({ openStore, signal }) =>
  probeShards((await openStore({ warn: false })).context, { signal })

export const readBodies: ReadBodies = async ({ openStore, signal }) => {
  const { context } = await openStore({ warn: false })
  return undefinedOnStoreError(inspectBodies(context, { rows: SAMPLED_BODIES, signal }))
}

/** Returns undefined if the reading fails by the state of the store. */
export async function undefinedOnStoreError<T>(reading: Promise<T>): Promise<T | undefined> {
  const result = await reading.catch(storeErrorOf)
  return isLooseleafError(result) ? undefined : result
}

const emptyOnStoreError = async <T>(reading: Promise<readonly T[]>): Promise<readonly T[]> =>
  (await undefinedOnStoreError(reading)) ?? []

async function hasCatalog({ openStore, signal }: Invocation): Promise<boolean> {
  const reloading = openStore().then(({ context }) => context.catalog.reload({ signal }))
  return (await undefinedOnStoreError(reloading)) !== undefined
}

/** Reads the report of the cleaners, or returns the error of the store that prevents it. */
export async function readReport({
  openStore,
  signal,
}: Invocation): Promise<Pick<Facts, 'report' | 'error'>> {
  const reading = openStore({ warn: false }).then((store) => readCleanerReport(store, { signal }))
  const report = await reading.catch(storeErrorOf)
  return isLooseleafError(report) ? { report: undefined, error: report } : { report, error: undefined }
}

/** Returns an error about the state of the store. Rethrows all others, such as those of a wrong command line or of Ctrl-C. */
function storeErrorOf(error: unknown): LooseleafError {
  const exitCode = isLooseleafError(error) ? exitCodeOf(error) : undefined
  if (exitCode === exitCodes.unavailable || exitCode === exitCodes.refused) return error as LooseleafError
  throw error
}
