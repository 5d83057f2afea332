import { msgpackZlibCodec } from '@looseleaf/codec'
import type { Shard } from '@looseleaf/core'
import {
  checkNode,
  createGate,
  createVersionClock,
  systemRandomness,
  systemTime,
} from '@looseleaf/core/internal'
import {
  createCatalogHolder,
  createClosing,
  createLoopShare,
  presentEntries,
  type EngineContext,
  type StoreDriver,
} from '@looseleaf/index-engine/internal'
import { acceptLosses } from '@looseleaf/protocol/internal'
import { bucketRouter } from '@looseleaf/router'
import { addIndexes } from '../catalog/manage-indexes.ts'
import { replaceLostIndexes } from '../catalog/replace-lost-indexes.ts'
import { sampleBodies, type BodySample } from './body-sample.ts'
import { checkCodec, type Decoding } from './check-codec.ts'
import { checkRouter } from './check-router.ts'
import { createCodecEntryKeeper } from './codec-entry-keeper.ts'
import { brokenText, inspectSamples } from './inspect-bodies.ts'
import { openStore, warnOfShards } from './open-store.ts'
import { bodiesWithEntries, plainBodies } from './stored-bodies.ts'
import { undefinedKinds } from './undefined-kinds.ts'
import { wholeMilliseconds } from './whole-milliseconds.ts'
import { agreeOnPolicies } from '../catalog/policies.ts'
import type { Observing } from '../observing/observing.ts'
import { indexWarnings } from './index-warnings.ts'
import { rewindWarnings } from './rewind-warnings.ts'
import type { DataStoreOptions } from '../types.ts'

/** Oldest and newest bodies of a shard to look at. */
const ROWS = 8
/** Bytes of the largest body to look at. */
const MAX_BODY = 64 * 1024
/** Lost codec entries to warn of. */
const MAX_NAMED = 5

/** Warns of codec entries that no shard has whole. Reading a row that is damaged on some shards alone warns by itself. */
async function warnOfLostEntries(
  samples: readonly BodySample[],
  shards: readonly Shard[],
  decoding: Decoding,
  onWarning: (message: string) => void,
): Promise<void> {
  const look = await inspectSamples(samples, shards, decoding)
  for (const lost of look.broken.filter(({ isLost }) => isLost).slice(0, MAX_NAMED)) {
    const { about, problem, instruction } = brokenText(lost, look)
    onWarning(`The ${about}: ${problem}. To do: ${instruction}.`)
  }
}

/** Connects, opens or makes the store, and applies the options. Closes the connections if that fails. */
export async function openContext(
  options: DataStoreOptions,
  onWarning: (message: string) => void,
  observing: Observing,
): Promise<EngineContext> {
  checkNode()
  const { shards, indexes = [], migrate = false, acceptEmptyShards = false } = options
  const time = wholeMilliseconds(options.time ?? systemTime)
  const { queryTimeMs, deleteDelayMs, onIndexFailure, random = systemRandomness } = options
  const router = options.router ?? bucketRouter({ shards: shards.shardCount })
  checkRouter(router)
  const policies = { deleteDelayMs, onIndexFailure }
  const connected = await shards.connect({
    statements: observing.statements,
    // A timer of the driver closes the breaker, outside of any call, so that event belongs to no call.
    onRefusing: (shard, isRefusing) =>
      isRefusing
        ? observing.happened({ kind: 'breaker', outcome: 'opened', shard })
        : observing.detached(() => observing.happened({ kind: 'breaker', outcome: 'closed', shard })),
  })
  let close = (): Promise<void> => connected.close()
  try {
    const opened = await openStore(connected, {
      router,
      migrate,
      acceptEmptyShards,
      indexes,
      policies,
      queryTimeMs,
      onWarning,
      detached: observing.detached,
    })
    const { silent } = opened
    const catalog = createCatalogHolder(opened.driver, router, opened.catalog)
    const given = options.codec ?? msgpackZlibCodec()
    // A codec without codec entries needs no keeper.
    const storeCodec = given.forStore?.()
    const keeper =
      storeCodec &&
      createCodecEntryKeeper(opened.driver, storeCodec.codecEntries, {
        time,
        onWarning,
        detached: observing.detached,
      })
    const driver: StoreDriver = {
      ...opened.driver,
      async close() {
        await keeper?.close()
        await opened.driver.close()
      },
    }
    close = () => driver.close()
    const codec = storeCodec ?? given
    const bodies = storeCodec && keeper ? bodiesWithEntries(storeCodec, keeper) : plainBodies(given)
    const answering = presentEntries(driver).flatMap(([number, shard]) => (silent.has(number) ? [] : [shard]))
    await keeper?.loadAll(catalog, answering)
    const samples = answering.map((shard) => sampleBodies(shard, { rows: ROWS, maxBody: MAX_BODY }))
    const codecEntries = catalog.current().hasDefinitions ? storeCodec?.codecEntries : undefined
    if (codecEntries) await warnOfLostEntries(samples, answering, { codec, bodies }, onWarning)
    const isLost = (body: Uint8Array): boolean => (codecEntries?.missing(body).length ?? 0) > 0
    await checkCodec(samples, { codec, bodies }, onWarning, isLost)
    const gate = createGate('The store is closed.')
    const context: EngineContext = {
      driver,
      router,
      codec,
      bodies,
      time,
      random,
      clock: createVersionClock(time, random),
      catalog,
      events: observing,
      onWarning,
      gate,
      share: time === systemTime ? createLoopShare(gate) : undefined,
      closing: createClosing(time),
    }
    await agreeOnPolicies(context, policies, onWarning)
    if (migrate && silent.size === 0) {
      await replaceLostIndexes(context)
      if (acceptEmptyShards) await acceptLosses(context)
      await addIndexes(context, indexes)
    }
    await warnOfShards(opened, onWarning)
    for (const warning of await rewindWarnings(driver, silent)) onWarning(warning)
    for (const warning of indexWarnings(context, indexes)) onWarning(warning)
    for (const warning of undefinedKinds(context, indexes)) onWarning(warning)
    return context
  } catch (error) {
    await close()
    throw error
  }
}
