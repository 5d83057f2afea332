import type { CallOptions } from '@looseleaf/core'
import { unchanged, type DataStore } from '@looseleaf/store'
import type { Kind } from './define-kind.ts'

export interface UpgradeOptions extends CallOptions {
  /** Called now and then. */
  readonly onProgress?: ((progress: UpgradeResult) => void) | undefined
}

export interface UpgradeResult {
  /** Entities of the store that were looked at, of every kind. */
  readonly scanned: number
  /** Entities of this kind that were written in the newest shape. */
  readonly upgraded: number
}

const AT_ONCE = 100

/**
 * Writes every entity of a kind whose shape is old in the newest one, and so brings its index rows up, too. Reads the whole store;
 * may be stopped and begun again at any time, and run beside the site: writers of an older program leave the newer shape said.
 */
export async function upgradeKind(
  store: DataStore,
  kind: Kind,
  { signal, onProgress }: UpgradeOptions = {},
): Promise<UpgradeResult> {
  const { shape } = kind
  let [scanned, upgraded] = [0, 0]
  let batch: string[] = []
  async function write(): Promise<void> {
    const ids = batch
    batch = []
    await Promise.all(ids.map((id) => upgradeOne(id)))
    onProgress?.({ scanned, upgraded })
  }
  async function upgradeOne(id: string): Promise<void> {
    let did = false
    await store.update(
      id,
      (bag) => {
        did = shape.isOf(bag) && shape.isOld(bag)
        return did ? shape.upgraded(bag) : unchanged
      },
      { signal },
    )
    if (did) upgraded++
  }
  for await (const entity of store.scan({ signal })) {
    scanned++
    if (!shape.isOf(entity) || !shape.isOld(entity)) continue
    batch.push(entity.id)
    if (batch.length >= AT_ONCE) await write()
  }
  await write()
  return { scanned, upgraded }
}
