import { idKey, type EntityRow, isBytes } from '@looseleaf/core'
import { longestBody, wholeRows } from '@looseleaf/index-engine'
import { idsByShard } from '@looseleaf/protocol'
import pLimit from 'p-limit'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { chunks } from '../tools/chunks.ts'
import { deriveEntity, type DerivedEntity } from './derive-entity.ts'

/** Ids per statement; a prepared statement of another length is another one to the server. */
const IDS_PER_READ = 256
const SHARDS_AT_ONCE = 4

/**
 * Reads the committed rows of these ids, tombstones too, and hands over each as it comes: so many bodies are not in hand
 * at once. Of an id that has no row nothing comes.
 */
export async function eachEntity(
  pass: Pick<Pass, 'context' | 'signal'>,
  ids: Iterable<Uint8Array>,
  visit: (row: EntityRow) => void,
): Promise<void> {
  const { signal } = pass
  const limit = pLimit(SHARDS_AT_ONCE)
  await Promise.all(
    Array.from(idsByShard(pass.context, ids), ([{ entities }, group]) =>
      limit(async () => {
        for (const chunk of chunks(group, IDS_PER_READ)) {
          const rows = await entities.readBounded(chunk, longestBody(chunk.length), { signal })
          const there = rows.filter((row) => row !== undefined)
          for await (const batch of wholeRows(entities, pass.context.codec, there, { signal }))
            for (const row of batch) visit(row)
        }
      }),
    ),
  )
}

/** The entities of these ids as they are now, each once, those that are not there too. */
export async function readDerived(
  pass: Pass,
  targets: readonly IndexTarget[],
  ids: Iterable<Uint8Array>,
): Promise<DerivedEntity[]> {
  const derived = new Map<string, DerivedEntity | Uint8Array>()
  for (const id of ids) derived.set(idKey(id), id)
  const all = [...derived.values()] as Uint8Array[]
  await eachEntity(pass, all, (row) => derived.set(idKey(row.id), deriveEntity(pass, targets, row.id, row)))
  return Array.from(derived.values(), (found) =>
    isBytes(found) ? deriveEntity(pass, targets, found, undefined) : found,
  )
}
