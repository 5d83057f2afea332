import { isLooseleafError, LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import type { CodecEntries, CodecEntry, StoredCodecEntry } from '@looseleaf/core/internal'
import { changeCatalogContents, presentShards, type EngineContext } from '@looseleaf/index-engine/internal'
import { NOTICE_MS } from './catalog-watch.ts'

/**
 * Stores codec entries on every shard that lacks them, and confirms to the codec those that all shards have with the same content. Returns
 * the confirmed ids. Before the first one, notes in the catalog that processes have to understand codec entries, and waits until every
 * process has read it. Needs every shard.
 */
export async function publishCodecEntries(
  { driver, catalog, time }: Pick<EngineContext, 'driver' | 'catalog' | 'time'>,
  codec: CodecEntries,
  entries: readonly CodecEntry[],
  options?: CallOptions,
): Promise<readonly string[]> {
  // Fails before anything is announced if a table is missing.
  for (const shard of presentShards(driver)) await requireTable(shard, entries, options)
  if (!catalog.current().hasDefinitions) {
    const changed = await changeCatalogContents(
      driver,
      (contents) => (contents.definitions ? undefined : { ...contents, definitions: true }),
      { ...options, holds: (contents) => contents.definitions === true },
    )
    await time.sleep(NOTICE_MS, options?.signal)
    catalog.adopt(changed)
  }
  const onShards = await Promise.all(presentShards(driver).map((shard) => addTo(shard, entries, options)))
  const confirmed: string[] = []
  for (const { id } of entries) {
    const rows = onShards.map((stored) => stored.find((row) => row.id === id))
    if (!rows.every((row) => row !== undefined && codec.learn(row))) continue
    codec.confirm(id)
    confirmed.push(id)
  }
  return confirmed
}

/** Adds the missing codec entries to a shard, and returns the durable rows of all of them. */
async function addTo(
  shard: Shard,
  entries: readonly CodecEntry[],
  options?: CallOptions,
): Promise<readonly StoredCodecEntry[]> {
  const ids = entries.map(({ id }) => id)
  const before = await shard.codecEntries.read(ids, options)
  const missing = entries.filter(({ id }) => !before.some((row) => row.id === id))
  await shard.codecEntries.add(missing, options)
  // Another process may have added some, whose commit may not be durable yet.
  await shard.flush(options)
  return shard.codecEntries.read(ids, options)
}

async function requireTable(
  shard: Shard,
  entries: readonly CodecEntry[],
  options?: CallOptions,
): Promise<void> {
  try {
    const ids = entries.map(({ id }) => id)
    await shard.codecEntries.read(ids, options)
  } catch (cause) {
    if (!isLooseleafError(cause, 'NOT_MIGRATED')) throw cause
    throw new LooseleafError(
      'NOT_MIGRATED',
      `${shard.name}: the table looseleaf_codec is missing, which a codec with shapes or a dictionary needs; open the store once with \`migrate: true\`. Until then bodies are written without.`,
      { shard: shard.name, cause },
    )
  }
}
