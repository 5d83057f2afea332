import { LooseleafError, type Requirement, type ShardCatalog } from '@looseleaf/core'

/** The form in which this version writes catalogs. */
export const CATALOG_FORMAT = 1

/** Required by a store whose superfluous index rows stay for a time, the same for all processes. */
export const DELETE_DELAY: Requirement = { name: 'delete-delay', since: '0.1.0' }

/** What this version understands of what stores may require. */
const KNOWN: ReadonlySet<string> = new Set([DELETE_DELAY.name])

/**
 * Makes sure that this process understands a store, by the catalog of one of its shards: the form of it, and all that it
 * requires. Throws `STORE_TOO_NEW`.
 */
export function requireUnderstood(shardName: string, { format = 1, requires = [] }: ShardCatalog): void {
  if (format !== CATALOG_FORMAT) {
    throw tooNew(
      shardName,
      `its catalog has format ${format}, and this version knows format ${CATALOG_FORMAT}`,
    )
  }
  const unknown = requires.filter(({ name }) => !KNOWN.has(name))
  if (unknown.length > 0) {
    throw tooNew(shardName, `the store requires ${list(unknown)}, which this version does not know`)
  }
}

const list = (requires: readonly Requirement[]): string =>
  requires.map(({ name, since }) => `${name} (in @looseleaf/store from ${since} on)`).join(', ')

function tooNew(shard: string, what: string): LooseleafError {
  return new LooseleafError(
    'STORE_TOO_NEW',
    `Shard ${shard}: ${what}. Nothing was written. Update the Looseleaf packages of this process.`,
    { shard },
  )
}
