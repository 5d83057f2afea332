import { formatId } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { isClaimsOf, isInUse } from '@looseleaf/index-engine/internal'
import type { CommittedRows } from './committed-rows.ts'
import { byName, bySeat } from '../shapes/indexes.ts'
import type { Owners } from '../world/owners.ts'

/** Checks the keys of unique indexes and their claims. */
export interface KeyCheck {
  /** Returns violations at this instant, in words. Call after each event. */
  look(): WrongKeys
  /**
   * Returns violations when all is quiet and swept, in words: keys of committed entities without a claim, and
   * generations of a unique index without claims.
   */
  unheld(): string[]
  /**
   * Call after a fall-back: entities may return to states from before all writers knew of claims that are not
   * ready.
   */
  fellBack(): void
  /**
   * Resumes the promise after a failover of a whole shard and its repair. Keys that two entities share by now
   * are excused.
   */
  promisedAgain(): void
}

export interface WrongKeys {
  /**
   * Whether any index whose claims are ready has a key to check, and likewise for claims that are building.
   */
  readonly isReady: boolean
  readonly isBuilding: boolean
  /** Keys that two committed entities share, in indexes whose claims are ready. */
  readonly twice: readonly string[]
  /** The same while claims are building, except keys from before all writers knew of them. */
  readonly twiceInBuilding: readonly string[]
  /** Keys of committed entities that are unclaimed, or claimed by another entity. */
  readonly unheld: readonly string[]
}

/** Keys that their entities did not have to claim. */
interface UnboundKeys {
  readonly isBuilding: boolean
  /** Whether all writers knew of the claims at the last look. Entities that are committed after it have to claim their keys. */
  readonly isKnown: boolean
  /** Entities with their keys. */
  readonly names: Set<string>
}

export function createKeyCheck(owners: Owners, committed: CommittedRows): KeyCheck {
  /** By table. */
  const unbound = new Map<string, UnboundKeys>()

  const kept = (): readonly CatalogEntry[] =>
    committed.entries().filter(({ unique, state }) => unique && (state === 'ready' || state === 'building'))

  /** Writers on a shard that does not know the claims may commit without any. */
  const isKnownToAll = ({ table }: CatalogEntry): boolean =>
    owners
      .catalogs()
      .every(({ indexes }) =>
        indexes.some((entry) => entry.table === table && ['building', 'ready'].includes(entry.state)),
      )

  interface Named {
    readonly name: string
    readonly identity: string
    readonly isHeld: boolean
    readonly words: string
  }

  function named(entry: CatalogEntry): Named[] {
    const all: Named[] = []
    committed.each(entry, ({ identity }, id, isHeld) => {
      const entity = formatId(id)
      const words = `${entity} with ${identity} of ${entry.table}`
      all.push({ name: `${entity} ${identity}`, identity, isHeld, words })
    })
    return all
  }

  function unboundOf(entry: CatalogEntry, all: readonly Named[]): ReadonlySet<string> {
    const isBuilding = entry.state === 'building'
    const before = unbound.get(entry.table)
    // Every key has a claim once claims are ready.
    const names =
      before === undefined || (before.isBuilding && !isBuilding) ? new Set<string>() : before.names
    // All entities of this look may be from before the change by which the last writers learned of the claims.
    if (isBuilding && before?.isKnown !== true) for (const { name } of all) names.add(name)
    unbound.set(entry.table, { isBuilding, isKnown: isKnownToAll(entry), names })
    return names
  }

  /** Groups entities that share a key, and describes them in words. */
  function several(all: readonly Named[]): Named[][] {
    return [...Map.groupBy(all, ({ identity }) => identity).values()].filter((group) => group.length > 1)
  }

  return {
    look() {
      const found = { isReady: false, isBuilding: false }
      const [twice, twiceInBuilding, unheld]: [string[], string[], string[]] = [[], [], []]
      for (const entry of kept()) {
        const all = named(entry)
        const exempt = unboundOf(entry, all)
        const bound = all.filter(({ name }) => !exempt.has(name))
        if (bound.length > 0) found[entry.state === 'ready' ? 'isReady' : 'isBuilding'] = true
        const list = entry.state === 'ready' ? twice : twiceInBuilding
        list.push(...several(bound).map((group) => `entities share a key: ${inWords(group)}`))
        unheld.push(...bound.filter(({ isHeld }) => !isHeld).map(({ words }) => `no claim of ${words}`))
      }
      return { ...found, twice, twiceInBuilding, unheld }
    },
    unheld() {
      const claims = kept()
      const unique: readonly string[] = [byName.name, bySeat.name]
      const without = committed
        .entries()
        .filter((entry) => unique.includes(entry.name) && !entry.unique && isInUse(entry))
        .filter((rows) => !claims.some((entry) => isClaimsOf(entry, rows)))
        .map(({ table }) => `no claims exist for ${table}`)
      const keys = claims.flatMap((entry) => {
        const all = named(entry)
        const lone = new Set(all.map(({ identity }) => identity))
        for (const { identity, isHeld } of all) if (isHeld) lone.delete(identity)
        return [...lone].map((identity) => `no entity with ${identity} of ${entry.table} has its claim`)
      })
      return [...without, ...keys]
    },
    fellBack() {
      for (const [table, keys] of unbound) unbound.set(table, { ...keys, isKnown: false })
      for (const entry of kept()) if (entry.state === 'building') unboundOf(entry, named(entry))
    },
    promisedAgain() {
      unbound.clear()
      for (const entry of kept()) {
        const all = named(entry)
        const isBuilding = entry.state === 'building'
        const exempt = isBuilding ? all : several(all).flat()
        const names = new Set(exempt.map(({ name }) => name))
        unbound.set(entry.table, { isBuilding, isKnown: isKnownToAll(entry), names })
      }
    },
  }
}

function inWords(group: readonly { readonly words: string }[]): string {
  return group.map(({ words }) => words).join(' and ')
}
