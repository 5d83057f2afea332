import { isLooseleafError, type CallOptions, type EntityId } from '@looseleaf/core'
import { optionKinds, withCallbacks, type OptionKinds } from '@looseleaf/core/internal'
import { unchanged, type DataStore } from '@looseleaf/store'
import { checkCall } from './check-call.ts'
import type { AnyKind } from './define-kind.ts'
import { addFailure, type Failure } from './fate.ts'
import type { Shape } from './shape.ts'

export interface UpgradeOptions extends CallOptions {
  /** Writes nothing; `upgraded` counts the entities that would be written. Default: false. */
  readonly dryRun?: boolean | undefined
  /** Called after every 1,000 entities. */
  readonly onProgress?: ((progress: UpgradeResult) => void) | undefined
}

export interface UpgradeResult {
  /** Entities of the store that were read, of every kind. */
  readonly scanned: number
  /** Entities that were written in the newest shape with defaults, by the name of the kind. */
  readonly upgraded: Readonly<Record<string, number>>
  /** Entities that could not be upgraded, with their errors; the first 100. All others were upgraded. */
  readonly failed: readonly Failure[]
  /** False if an entity could not be upgraded. */
  readonly complete: boolean
}

const KNOWN: OptionKinds<UpgradeOptions> = {
  signal: optionKinds.signal,
  dryRun: optionKinds.flag,
  onProgress: optionKinds.function,
}

/** Entities of a batch, which are written at the same time. */
const BATCH = 100
const PROGRESS_EVERY = 1_000

/**
 * Writes every entity of these kinds that is stored in an old shape, without a default of its schema, or under a former name. Its index
 * rows get the new values, too. Reads the whole store. An entity that cannot be read, or does not fit the schema, stays and is listed in
 * `failed`.
 *
 * The call can be aborted and repeated at any time, while other processes use the store. Start it when every process has the new upgrades:
 * an older program refuses to change an upgraded entity. Throws `BAD_OPTION` for bad arguments, and for two kinds with the same name.
 */
export async function upgradeKinds(
  store: DataStore,
  kinds: readonly AnyKind[],
  options: UpgradeOptions = {},
): Promise<UpgradeResult> {
  checkCall('upgradeKinds', store, kinds, options, KNOWN)
  return withCallbacks(options, (wrapped) => upgrade(store, kinds, wrapped))
}

async function upgrade(
  store: DataStore,
  kinds: readonly AnyKind[],
  { signal, dryRun = false, onProgress }: UpgradeOptions,
): Promise<UpgradeResult> {
  let scanned = 0
  const upgraded = Object.fromEntries(kinds.map(({ name }) => [name, 0]))
  const failed: Failure[] = []
  let batch: { readonly id: EntityId; readonly shape: Shape }[] = []

  const result = (): UpgradeResult => ({
    scanned,
    upgraded: { ...upgraded },
    failed: [...failed],
    complete: failed.length === 0,
  })
  async function upgradeBatch(): Promise<void> {
    const current = batch
    batch = []
    await Promise.all(current.map(({ id, shape }) => upgradeEntity(id, shape)))
  }

  async function upgradeEntity(id: EntityId, shape: Shape): Promise<void> {
    let isBehind = false
    try {
      await store.update(
        id,
        (bag) => {
          isBehind = shape.isOf(bag) && shape.isBehind(bag)
          if (!isBehind) return unchanged
          const upgradedBag = shape.upgraded(bag, id)
          return dryRun ? unchanged : upgradedBag
        },
        { signal },
      )
      if (isBehind) upgraded[shape.name]!++
    } catch (error) {
      // A deleted entity needs no upgrade. An error that every entity would meet ends the call.
      if (isLooseleafError(error, 'NOT_FOUND')) return
      if (isLooseleafError(error) && (error.retryable || error.code === 'ABORTED' || error.code === 'CLOSED'))
        throw error
      addFailure(failed, id, error)
    }
  }

  const onDamaged = (error: Error & { readonly entity?: string | undefined }): void =>
    addFailure(failed, error.entity ?? '', error)
  for await (const entity of store.scan({ signal, onDamaged })) {
    if (++scanned % PROGRESS_EVERY === 0) onProgress?.(result())
    const kind = kinds.find(({ shape }) => shape.isOf(entity))
    if (kind?.shape.isBehind(entity) !== true) continue
    batch.push({ id: entity.id, shape: kind.shape })
    if (batch.length >= BATCH) await upgradeBatch()
  }
  await upgradeBatch()
  return result()
}
