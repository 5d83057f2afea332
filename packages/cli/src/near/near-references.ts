import type { CallOptions, EntityId } from '@looseleaf/core'
import { isPlainObject } from '@looseleaf/core/internal'
import type { AnyKind } from '@looseleaf/kinds'
import type { DataStore } from '@looseleaf/store'

/** Properties that hold ids of some entities, such as `comment.issue`, each with the number of entities in which it does. */
export type References = Readonly<Record<string, number>>

/** Ids that are looked for at most, some 100 MB of memory. */
export const MAX_IDS = 1_000_000

const PROGRESS_EVERY = 1_000
const UUID_LENGTH = 36

/**
 * Counts the entities with one of these ids as the whole text of a property, at any depth. The kind of an entity precedes the path. Links and other
 * stores may have the ids, too. Reads the whole store.
 */
export async function countReferences(
  store: DataStore,
  kinds: readonly AnyKind[],
  ids: ReadonlySet<EntityId>,
  { signal, onProgress }: CallOptions & { readonly onProgress: (scanned: number) => void },
): Promise<References> {
  const references = new Map<string, number>()
  let scanned = 0
  for await (const { id: _, ...bag } of store.scan({ signal, onDamaged: () => {} })) {
    if (++scanned % PROGRESS_EVERY === 0) onProgress(scanned)
    const paths = new Set<string>()
    addPaths(bag, '', ids, paths)
    if (paths.size === 0) continue
    const kind = kinds.find(({ shape }) => shape.isOf(bag))?.name ?? '(no kind of the config)'
    for (const path of paths) references.set(kind + path, (references.get(kind + path) ?? 0) + 1)
  }
  return Object.fromEntries(references)
}

/** Adds the paths at which a value holds one of the ids, without positions in arrays. */
function addPaths(value: unknown, path: string, ids: ReadonlySet<EntityId>, paths: Set<string>): void {
  if (typeof value === 'string') {
    if (value.length === UUID_LENGTH && ids.has(value.toLowerCase())) paths.add(path)
  } else if (Array.isArray(value)) {
    for (const element of value) addPaths(element, path, ids, paths)
  } else if (isPlainObject(value)) {
    for (const [name, inner] of Object.entries(value)) addPaths(inner, `${path}.${name}`, ids, paths)
  }
}
