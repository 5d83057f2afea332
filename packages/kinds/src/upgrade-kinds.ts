import type { CallOptions, EntityId } from '@looseleaf/core'
import { unchanged, type DataStore } from '@looseleaf/store'
import type { AnyKind } from './define-kind.ts'
import type { Shape } from './shape.ts'

export interface UpgradeOptions extends CallOptions {
  /** Called now and then. */
  readonly onProgress?: ((progress: UpgradeResult) => void) | undefined
}

export interface UpgradeResult {
  /** Entities of the store that were looked at, of every kind. */
  readonly scanned: number
  /** Entities that were written in the newest shape, by the names of their kinds. */
  readonly upgraded: Readonly<Record<string, number>>
}

/** Entities written at once. */
const AT_ONCE = 100
const TELL_EVERY = 1_000

/**
 * Writes every entity of these kinds whose shape is old in the newest one, and so brings its index rows up, too. Reads the whole
 * store; may be stopped and begun again at any time, and run beside the site. Begin when every process of the site has the new
 * upgrades: an older one reads what it does not know yet.
 */
export async function upgradeKinds(
  store: DataStore,
  kinds: readonly AnyKind[],
  { signal, onProgress }: UpgradeOptions = {},
): Promise<UpgradeResult> {
  let scanned = 0
  const upgraded = Object.fromEntries(kinds.map(({ name }) => [name, 0]))
  let batch: { readonly id: EntityId; readonly shape: Shape }[] = []

  async function upgradeBatch(): Promise<void> {
    const taken = batch
    batch = []
    await Promise.all(taken.map(({ id, shape }) => upgrade(id, shape)))
  }

  async function upgrade(id: EntityId, shape: Shape): Promise<void> {
    let isOld = false
    await store.update(
      id,
      (bag) => {
        isOld = shape.isOf(bag) && shape.isOld(bag)
        return isOld ? shape.upgraded(bag) : unchanged
      },
      { signal },
    )
    if (isOld) upgraded[shape.name]!++
  }

  for await (const entity of store.scan({ signal })) {
    if (++scanned % TELL_EVERY === 0) onProgress?.({ scanned, upgraded: { ...upgraded } })
    const kind = kinds.find(({ shape }) => shape.isOf(entity))
    if (kind?.shape.isOld(entity) !== true) continue
    batch.push({ id: entity.id, shape: kind.shape })
    if (batch.length >= AT_ONCE) await upgradeBatch()
  }
  await upgradeBatch()
  return { scanned, upgraded }
}
