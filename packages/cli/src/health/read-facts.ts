import { readConsumers } from '@looseleaf/changes'
import { readCleanerReport, type CleanerReport } from '@looseleaf/cleaner'
import { readEmptiedTables, readRewinds } from '@looseleaf/cleaner/internal'
import { isLooseleafError, type IndexDefinitionData, type LooseleafError } from '@looseleaf/core'
import { isOutage, platformTime } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import {
  inspectBodies,
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
import type { ReadBodies } from './cached-bodies.ts'
import type { ProbeShards } from './cached-probes.ts'

/** Size of the sample of bodies per shard: this many of the oldest, and this many of the newest. */
const BODIES = 100

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
  const [bodies, consumers, replicas, probes, failures, wentBack, lostRows, shards, moves] =
    await Promise.all([
      bodiesOf(invocation),
      undefinedOnStoreError(readConsumers(store, { signal })),
      readReplicas(store.context, { signal }),
      probesOf(invocation),
      readFailures(store.context, { signal }),
      undefinedOnStoreError(readRewinds(store, { signal })),
      undefinedOnStoreError(readEmptiedTables(store, { signal })),
      undefinedOnStoreError(store.shards.list({ signal })),
      undefinedOnStoreError(store.shards.moves({ signal })),
    ])
  return {
    bodies,
    consumers: consumers ?? [],
    replicas,
    probes,
    failures,
    wentBack: wentBack ?? [],
    lostRows: lostRows ?? [],
    shards: shards ?? [],
    moves: moves ?? [],
    configIndexes: indexesToAdd(store, (await invocation.settings()).indexes),
  }
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

/** Writes a small row on each shard and returns the results. */
export async function probe({ openStore, signal }: Invocation): Promise<readonly ShardProbe[]> {
  const { context } = await openStore({ warn: false })
  return probeShards(context, { signal })
}

export async function readBodies({ openStore, signal }: Invocation): Promise<BodyInspection | undefined> {
  const { context } = await openStore({ warn: false })
  return undefinedOnStoreError(inspectBodies(context, { rows: BODIES, signal }))
}

/** Returns undefined if the reading fails by the state of the store. */
export async function undefinedOnStoreError<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (!isLooseleafError(error) || !isStoreError(error)) throw error
    return undefined
  }
}

async function hasCatalog(invocation: Invocation): Promise<boolean> {
  try {
    await (await invocation.openStore()).context.catalog.reload({ signal: invocation.signal })
    return true
  } catch (error) {
    if (!isLooseleafError(error) || !isStoreError(error)) throw error
    return false
  }
}

/** Reads the report of the cleaners, or returns the error of the store that prevents it. */
export async function readReport(
  invocation: Invocation,
): Promise<{ readonly report: CleanerReport | undefined; readonly error: LooseleafError | undefined }> {
  try {
    const store = await invocation.openStore({ warn: false })
    return { report: await readCleanerReport(store, { signal: invocation.signal }), error: undefined }
  } catch (error) {
    if (!isLooseleafError(error) || !isStoreError(error)) throw error
    return { report: undefined, error }
  }
}

/** Tells whether an error describes the state of the store, not a wrong command line or the end of the command. */
function isStoreError({ code }: LooseleafError): boolean {
  const exitCode = exitCodeOf[code]
  return exitCode === exitCodes.unavailable || exitCode === exitCodes.refused
}
