import { isLooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import {
  byCode,
  byGroup,
  byName,
  bySlot,
  byTag,
  byUser,
  GROUPS,
  pages,
  SLOTS,
  TAGS,
  USERS,
  WANTED,
} from './indexes.ts'
import { failed, mayBe, type Findings, type Tracked } from './oracle.ts'

export interface Traffic {
  readonly findings: Findings
  readonly entities: readonly Tracked[]
  /** Ends all calls, and resolves when they are over. */
  stop(): Promise<void>
}

export interface TrafficOptions {
  readonly writers: number
  readonly readers: number
  readonly entitiesPerWriter: number
  readonly pause: () => Promise<void>
}

interface State {
  readonly n: number
  readonly number: number
  readonly user: string
  readonly tags: string[]
  readonly slot: number
  readonly group: string
  readonly title: string
  readonly kind: string
  readonly code: string
  readonly name: string
}

function bagOf({ number, isMortal }: Tracked, n: number, name: string): State {
  return {
    n,
    number,
    user: `user ${number % USERS}`,
    tags: [`tag ${number % TAGS}`, `tag of ${number}`, `other ${n % 5}`],
    slot: number % SLOTS,
    group: `group ${number % GROUPS}`,
    title: `state ${n} ${'x'.repeat(n % 40)}`,
    kind: isMortal ? 'note' : 'page',
    code: `code ${number}`,
    name,
  }
}

/** Lets writers and readers work on these stores until `stop`. Each writer has entities of its own, and wants names that others want. */
export async function startTraffic(
  stores: readonly DataStore[],
  { writers, readers, entitiesPerWriter, pause }: TrafficOptions,
  findings: Findings,
): Promise<Traffic> {
  let isOver = false
  const holders = new Map<string, Tracked>()
  const entities = Array.from({ length: writers * entitiesPerWriter }, (_, number): Tracked => ({
    number,
    id: stores[0]!.newId(),
    isMortal: number % 5 === 0,
    states: [],
    acknowledged: -1,
    name: `name ${number}`,
  }))

  async function write(store: DataStore, entity: Tracked, kind: number): Promise<void> {
    const { id, states } = entity
    const before = states[entity.acknowledged]
    const n = states.length
    const isDeleted = entity.acknowledged >= 0 && before === undefined
    const wanted = `wanted ${(n * 7 + entity.number) % WANTED}`
    const wants = kind === 3 && !isDeleted
    const deletes = entity.isMortal && !isDeleted && n > 0 && kind === 2
    const name = deletes ? undefined : wants ? wanted : entity.name
    states.push(name)
    const loses = before !== undefined && before !== name && holders.get(before) === entity
    if (loses) holders.delete(before)
    const began = performance.now()
    try {
      if (deletes) await store.delete(id)
      else if (n === 0 || isDeleted) await store.insert(bagOf(entity, n, name!), { id })
      else if (kind % 2 === 0) await store.put(bagOf(entity, n, name!), { id })
      else
        await store.update<State>(id, (bag) => {
          const found = Number(bag.n)
          if (!mayBe(entity, entity.acknowledged, found))
            findings.violations.push(`update of ${entity.number} read ${found} after ${entity.acknowledged}`)
          return bagOf(entity, n, name!)
        })
      entity.acknowledged = n
      findings.writes++
      if (wants) {
        const other = holders.get(wanted)
        if (other !== undefined && other !== entity)
          findings.violations.push(`${wanted} is held by ${other.number} and ${entity.number}`)
        holders.set(wanted, entity)
      }
    } catch (error) {
      if (wants && isLooseleafError(error, 'DUPLICATE_KEY')) {
        findings.refused++
        // The state was refused, so no read may return it: it counts as the one before.
        states.pop()
        if (loses) holders.set(before, entity)
      } else failed(findings, deletes ? 'delete' : 'write', error)
    }
    findings.longestMs = Math.max(findings.longestMs, performance.now() - began)
  }

  async function writeAll(writer: number): Promise<void> {
    const own = entities.filter(({ number }) => number % writers === writer)
    for (const entity of own) await write(stores[writer % stores.length]!, entity, 0)
    for (let i = 0; !isOver; i++) {
      const store = stores[(writer + i) % stores.length]!
      const entity = own[(i * 5 + Math.floor(i / own.length)) % own.length]!
      const other = own[(entity.number + 1 + i) % own.length]!
      if (
        i % 6 === 5 &&
        other !== entity &&
        other.states[other.acknowledged] === other.name &&
        entity.states[entity.acknowledged] === entity.name
      ) {
        // Private names change hands through a name that nobody has.
        const [mine, its] = [entity.name, other.name]
        entity.name = `between ${writer}`
        await write(store, entity, 1)
        if (entity.states[entity.acknowledged] !== entity.name)
          entity.name = entity.states[entity.acknowledged] ?? mine
        else {
          other.name = mine
          await write(store, other, 1)
          if (other.states[other.acknowledged] === mine) {
            entity.name = its
            await write(store, entity, 0)
          } else {
            other.name = its
            entity.name = mine
          }
        }
      } else await write(store, entity, i % 4)
      await pause()
    }
  }

  async function readAll(reader: number): Promise<void> {
    for (let i = reader; !isOver; i++) {
      const store = stores[i % stores.length]!
      const began = performance.now()
      try {
        if (i % 3 === 0) await query(store, i)
        else await read(store, i)
      } catch (error) {
        failed(findings, i % 3 === 0 ? 'query' : 'read', error)
      }
      findings.longestMs = Math.max(findings.longestMs, performance.now() - began)
      await pause()
    }
  }

  async function read(store: DataStore, i: number): Promise<void> {
    const some =
      i % 2 === 0
        ? [entities[(i * 3) % entities.length]!]
        : Array.from({ length: 6 }, (_, j) => entities[(i + j * 13) % entities.length]!)
    const since = some.map(({ acknowledged }) => acknowledged)
    const found =
      some.length === 1 ? [await store.get(some[0]!.id)] : await store.getMany(some.map(({ id }) => id))
    findings.reads++
    for (const [j, entity] of some.entries()) {
      const n = found[j] === undefined ? undefined : Number(found[j]['n'])
      if (since[j]! >= 0 && !mayBe(entity, since[j]!, n))
        findings.violations.push(`read of ${entity.number}: ${n} after ${since[j]} was acknowledged`)
    }
  }

  async function query(store: DataStore, i: number): Promise<void> {
    const at = Math.floor(i / 3)
    const ask = asks[at % asks.length]!
    const value = Math.floor(at / asks.length)
    const expected = entities
      .filter((entity) => !entity.isMortal && entity.acknowledged >= 0 && ask.has(entity, value))
      .map((entity) => ({ entity, since: entity.acknowledged }))
    const found = await ask.all(store, value)
    findings.queries++
    const byId = new Map(found.map((item) => [item.id, item]))
    if (byId.size !== found.length) findings.violations.push(`${ask.name} found an entity twice`)
    for (const { entity, since } of expected) {
      const item = byId.get(entity.id)
      if (item === undefined)
        findings.violations.push(`${ask.name} missed ${entity.number}, acknowledged as ${since}`)
      else if (!mayBe(entity, since, Number(item['n'])))
        findings.violations.push(`${ask.name} found ${entity.number} as ${String(item['n'])} after ${since}`)
    }
  }

  const work = [
    ...Array.from({ length: writers }, (_, writer) => writeAll(writer)),
    ...Array.from({ length: readers }, (_, reader) => readAll(reader)),
  ]
  return {
    findings,
    entities,
    async stop() {
      isOver = true
      await Promise.all(work)
    },
  }
}

interface Ask {
  readonly name: string
  has(entity: Tracked, value: number): boolean
  all(
    store: DataStore,
    value: number,
  ): Promise<readonly { readonly id: string; readonly [name: string]: unknown }[]>
}

type Answer = Promise<readonly { readonly id: string; readonly [name: string]: unknown }[]>

const asks: readonly Ask[] = [
  {
    name: 'by_user',
    has: ({ number }, v) => number % USERS === v % USERS,
    all: (store, v) => byUser.getAll(store, { user: `user ${v % USERS}` }) as Answer,
  },
  {
    name: 'by_tag',
    has: ({ number }, v) => number % TAGS === v % TAGS,
    all: (store, v) => byTag.getAll(store, { tags: `tag ${v % TAGS}` }) as Answer,
  },
  {
    name: 'by_slot',
    has: ({ number }, v) => number % SLOTS === v % SLOTS,
    all: (store, v) => bySlot.getAll(store, { slot: v % SLOTS }, { scatter: true }) as Answer,
  },
  {
    name: 'by_group',
    has: ({ number }, v) => number % GROUPS === v % GROUPS,
    all: (store, v) => byGroup.getAll(store, { group: `group ${v % GROUPS}` }) as Answer,
  },
  {
    name: 'pages',
    has: ({ number }, v) => number % USERS === v % USERS,
    all: (store, v) => pages.getAll(store, { user: `user ${v % USERS}` }) as Answer,
  },
  {
    name: 'by_code',
    has: ({ number }, v) => number === v % 40,
    all: (store, v) => byCode.getAll(store, { code: `code ${v % 40}` }) as Answer,
  },
]

/** Compares the store with the oracle, when nothing is in flight. */
export async function checkEnd(store: DataStore, { entities, findings }: Traffic): Promise<void> {
  const names = new Map<string, number>()
  const found = await store.getMany(entities.map(({ id }) => id))
  for (const [i, entity] of entities.entries()) {
    const n = found[i] === undefined ? undefined : Number(found[i]['n'])
    if (!mayBe(entity, entity.acknowledged, n))
      findings.violations.push(`at the end ${entity.number} is ${n}, acknowledged as ${entity.acknowledged}`)
    const name = found[i]?.['name'] as string | undefined
    if (name === undefined) continue
    const other = names.get(name)
    if (other !== undefined) findings.violations.push(`${name} is held by ${other} and ${entity.number}`)
    names.set(name, entity.number)
    const [holder] = await byName.getAll(store, { name })
    if (holder?.id !== entity.id) findings.violations.push(`by_name does not find ${entity.number}`)
  }
  let scanned = 0
  for await (const _ of store.scan()) scanned++
  if (scanned !== found.filter((each) => each !== undefined).length)
    findings.violations.push(`a scan found ${scanned} entities`)
}
