import { formatId, type CatalogEntry } from '@looseleaf/core'
import { isClaimsOf, isInUse } from '@looseleaf/index-engine'
import type { ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import type { CommittedRows } from './committed-rows.ts'
import { byName, bySeat } from './indexes.ts'

/** Looks at the keys of unique indexes, and at who holds them. */
export interface KeyCheck {
  /** What is wrong at this instant, in words; after each thing that happened. */
  look(): WrongKeys
  /**
   * What is wrong when all is quiet and swept: keys that nobody holds, though some entity is committed with them, and generations of
   * a unique index without claims.
   */
  unheld(): string[]
  /** Entities may be again what they were before all writers knew of claims that are not ready. */
  fellBack(): void
  /**
   * From now on it is promised again, after a failover of a whole shard and its repair: keys that two entities have by now are
   * nobody's fault.
   */
  promisedAgain(): void
}

export interface WrongKeys {
  /** Whether there is a key to look at in an index whose claims are ready, and in one whose are not. */
  readonly isReady: boolean
  readonly isBuilding: boolean
  /** Keys that two committed entities have, of indexes whose claims are ready. */
  readonly twice: readonly string[]
  /** The same while claims are not ready, but for what was there before all writers knew of them. */
  readonly twiceInBuilding: readonly string[]
  /** Keys that another one holds, or nobody, than the entity that is committed with them. */
  readonly unheld: readonly string[]
}

export function createKeyCheck(driver: ReferenceDriver, committed: CommittedRows): KeyCheck {
  /** By table: entities with keys that nobody had to claim. */
  const unbound = new Map<string, { isBuilding: boolean; names: Set<string> }>()

  const kept = (): readonly CatalogEntry[] =>
    committed.entries().filter(({ unique, state }) => unique && (state === 'ready' || state === 'building'))

  /** Whoever is committed on a shard that does not know the claims may not have taken any. */
  const isKnownToAll = ({ table }: CatalogEntry): boolean =>
    driver.shards.every((shard) =>
      shard
        .contents()
        ?.indexes.some((entry) => entry.table === table && ['building', 'ready'].includes(entry.state)),
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
    let known = unbound.get(entry.table)
    // When claims get ready, every key has one.
    if (known === undefined || (known.isBuilding && !isBuilding)) known = { isBuilding, names: new Set() }
    known.isBuilding = isBuilding
    unbound.set(entry.table, known)
    if (isBuilding && !isKnownToAll(entry)) for (const { name } of all) known.names.add(name)
    return known.names
  }

  /** Keys that several have, in words. */
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
        list.push(...several(bound).map((group) => `two have one key: ${inWords(group)}`))
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
        .map(({ table }) => `nobody claims keys of ${table}`)
      const keys = claims.flatMap((entry) => {
        const all = named(entry)
        const lone = new Set(all.map(({ identity }) => identity))
        for (const { identity, isHeld } of all) if (isHeld) lone.delete(identity)
        return [...lone].map((identity) => `nobody who has it holds ${identity} of ${entry.table}`)
      })
      return [...without, ...keys]
    },
    fellBack() {
      for (const entry of kept()) {
        if (entry.state !== 'building') continue
        const all = named(entry)
        unboundOf(entry, all)
        for (const { name } of all) unbound.get(entry.table)?.names.add(name)
      }
    },
    promisedAgain() {
      unbound.clear()
      for (const entry of kept()) {
        const all = named(entry)
        const isBuilding = entry.state === 'building'
        const exempt = isBuilding ? all : several(all).flat()
        unbound.set(entry.table, { isBuilding, names: new Set(exempt.map(({ name }) => name)) })
      }
    },
  }
}

function inWords(group: readonly { readonly words: string }[]): string {
  return group.map(({ words }) => words).join(' and ')
}
