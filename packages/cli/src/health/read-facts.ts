import { readConsumers } from '@looseleaf/changes'
import { readCleanerReport, readLostRows, readWentBack, type CleanerReport } from '@looseleaf/cleaner'
import { isLooseleafError, isOutage, type LooseleafError, platformTime } from '@looseleaf/core'
import {
  lookAtBodies,
  probeShards,
  readFailures,
  readReplicas,
  type BodiesLook,
  type ShardProbe,
} from '@looseleaf/store'
import { exitCodeOf, exitCodes } from '../exit-codes.ts'
import type { Session } from '../session.ts'
import type { Facts } from './facts.ts'
import type { ReadBodies } from './kept-bodies.ts'
import type { ProbeShards } from './kept-probes.ts'

/** Bodies of a shard that are looked at: so many of the oldest, and of those that were written last. */
const BODIES = 100

/** What is known of the store of a session. A shard that does not answer, or refuses, is no failure but a fact. */
export async function factsOf(
  session: Session,
  bodiesOf: ReadBodies = readBodies,
  probesOf: ProbeShards = probe,
): Promise<Facts> {
  const { report, error } = await reportUnless(session, isOfStore)
  // After the report, which is what the time is held against.
  const now = platformTime.now()
  // Where a shard refuses, the report alone may be what cannot be had.
  const isKnown = report !== undefined || (!isOutage(error) && (await hasCatalog(session)))
  const policies = isKnown ? (await session.store()).context.catalog.current().policies : undefined
  const more = isKnown
    ? await readMore(session, bodiesOf, probesOf)
    : { bodies: undefined, consumers: [], replicas: [], probes: [], failures: [], wentBack: [], lostRows: [] }
  return { now, report, error, policies, ...more }
}

/** What the cleaners' report does not have. What is wrong with a shard is told by other rules, and leaves out what it would have told. */
export async function readMore(
  session: Session,
  bodiesOf: ReadBodies = readBodies,
  probesOf: ProbeShards = probe,
): Promise<
  Pick<Facts, 'bodies' | 'consumers' | 'replicas' | 'probes' | 'failures' | 'wentBack' | 'lostRows'>
> {
  const { signal } = session
  const store = await session.store({ warn: false })
  const [bodies, consumers, replicas, probes, failures, wentBack, lostRows] = await Promise.all([
    bodiesOf(session),
    unlessOfStore(readConsumers(store, { signal })),
    readReplicas(store.context, { signal }),
    probesOf(session),
    readFailures(store.context, { signal }),
    unlessOfStore(readWentBack(store, { signal })),
    unlessOfStore(readLostRows(store, { signal })),
  ])
  return {
    bodies,
    consumers: consumers ?? [],
    replicas,
    probes,
    failures,
    wentBack: wentBack ?? [],
    lostRows: lostRows ?? [],
  }
}

/** Writes a small row on each shard. */
export async function probe({ store, signal }: Session): Promise<readonly ShardProbe[]> {
  const { context } = await store({ warn: false })
  return probeShards(context, { signal })
}

export async function readBodies({ store, signal }: Session): Promise<BodiesLook | undefined> {
  const { context } = await store({ warn: false })
  return unlessOfStore(lookAtBodies(context, { rows: BODIES, signal }))
}

async function unlessOfStore<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (!isLooseleafError(error) || !isOfStore(error)) throw error
    return undefined
  }
}

async function hasCatalog(session: Session): Promise<boolean> {
  try {
    await (await session.store()).context.catalog.reload({ signal: session.signal })
    return true
  } catch (error) {
    if (!isLooseleafError(error) || !isOfStore(error)) throw error
    return false
  }
}

/** The report of the cleaners, or an error that stands in its place. */
export async function reportUnless(
  session: Session,
  stands: (error: LooseleafError) => boolean,
): Promise<{ readonly report: CleanerReport | undefined; readonly error: LooseleafError | undefined }> {
  try {
    const store = await session.store({ warn: false })
    return { report: await readCleanerReport(store, { signal: session.signal }), error: undefined }
  } catch (error) {
    if (!isLooseleafError(error) || !stands(error)) throw error
    return { report: undefined, error }
  }
}

/** Whether it says something of the store, and not of the command line or of whoever has ended the command. */
export function isOfStore({ code }: LooseleafError): boolean {
  const exitCode = exitCodeOf[code]
  return exitCode === exitCodes.unavailable || exitCode === exitCodes.refused
}
