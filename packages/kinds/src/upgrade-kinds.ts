import { isLooseleafError, withCallbacks, type CallOptions, type EntityId } from '@looseleaf/core'
import { unchanged, type DataStore } from '@looseleaf/store'
import type { AnyKind } from './define-kind.ts'
import { addFailure, type Failure } from './fate.ts'
import { indexesOf } from './indexes-of.ts'
import type { Shape } from './shape.ts'

export interface UpgradeOptions extends CallOptions {
  /** Write nothing: `upgraded` has what would be. Default: false. */
  readonly dryRun?: boolean | undefined
  /** Called now and then. */
  readonly onProgress?: ((progress: UpgradeResult) => void) | undefined
}

export interface UpgradeResult {
  /** Entities of the store that were looked at, of every kind. */
  readonly scanned: number
  /** Entities that were written in the newest shape, with the defaults of the schema, by the names of their kinds. */
  readonly upgraded: Readonly<Record<string, number>>
  /** Entities that could not be upgraded, up to 100, and why; all others were. */
  readonly failed: readonly Failure[]
  /** False where an entity could not be upgraded. */
  readonly complete: boolean
}

/** Entities written at once. */
const AT_ONCE = 100
const TELL_EVERY = 1_000

/**
 * Writes every entity of these kinds that is stored in an old shape or without a default of its schema, if it fits the schema then, and
 * so brings its index rows up, too. Reads the whole store; what cannot be read or upgraded is told and left. May be stopped and begun again at any time, and run
 * beside the site. Begin when every process of the site has the new upgrades: an older one does not change what was upgraded.
 */
export async function upgradeKinds(
  store: DataStore,
  kinds: readonly AnyKind[],
  options: UpgradeOptions = {},
): Promise<UpgradeResult> {
  // Two of one name would upgrade each other's entities.
  indexesOf(...kinds)
  return withCallbacks(options, (taken) => upgrade(store, kinds, taken))
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

  const told = (): UpgradeResult => ({
    scanned,
    upgraded: { ...upgraded },
    failed: [...failed],
    complete: failed.length === 0,
  })
  async function upgradeBatch(): Promise<void> {
    const taken = batch
    batch = []
    await Promise.all(taken.map(({ id, shape }) => upgradeOne(id, shape)))
  }

  async function upgradeOne(id: EntityId, shape: Shape): Promise<void> {
    let isBehind = false
    try {
      await store.update(
        id,
        (bag) => {
          isBehind = shape.isOf(bag) && shape.isBehind(bag)
          if (!isBehind) return unchanged
          const now = shape.upgraded(bag, id)
          return dryRun ? unchanged : now
        },
        { signal },
      )
      if (isBehind) upgraded[shape.name]!++
    } catch (error) {
      // One that was deleted meanwhile needs no upgrade; what a shard answers for all ends the work.
      if (isLooseleafError(error, 'NOT_FOUND')) return
      if (isLooseleafError(error) && (error.retryable || error.code === 'ABORTED' || error.code === 'CLOSED'))
        throw error
      addFailure(failed, id, error)
    }
  }

  const onDamaged = (error: Error & { readonly entity?: string | undefined }): void =>
    addFailure(failed, error.entity ?? '', error)
  for await (const entity of store.scan({ signal, onDamaged })) {
    if (++scanned % TELL_EVERY === 0) onProgress?.(told())
    const kind = kinds.find(({ shape }) => shape.isOf(entity))
    if (kind?.shape.isBehind(entity) !== true) continue
    batch.push({ id: entity.id, shape: kind.shape })
    if (batch.length >= AT_ONCE) await upgradeBatch()
  }
  await upgradeBatch()
  return told()
}
