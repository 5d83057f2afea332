import type { ClaimTable } from '../ports/claim-table.ts'
import type { Shard } from '../ports/driver.ts'
import type { IndexTable, IndexTableSpec } from '../ports/index-table.ts'
import type { ShardSnapshot, SnapshotOptions } from '../ports/shard-snapshot.ts'
import { getOrInsert } from '../tools/get-or-insert.ts'

type Method = (...args: never[]) => unknown
type AsyncMethod = (...args: unknown[]) => Promise<unknown>

type TableName = {
  [Name in keyof Shard]-?: NonNullable<Shard[Name]> extends string | readonly unknown[] | Method
    ? never
    : Name
}[keyof Shard]

/** Names of the methods that send nothing. */
type LocalName = {
  [Name in keyof Shard]-?: NonNullable<Shard[Name]> extends (...args: never[]) => infer Answer
    ? Answer extends Promise<unknown>
      ? never
      : Name
    : never
}[keyof Shard]

// A new table or local method of the port does not compile until it is listed here.
const tableNames: Readonly<Record<TableName, true>> = {
  entities: true,
  catalog: true,
  tasks: true,
  pending: true,
  codecEntries: true,
}
const localNames: Readonly<Record<LocalName, true>> = {
  index: true,
  claims: true,
  schema: true,
  connections: true,
}

/** Replacements of methods of a shard and its tables. Each function gets the original, and is called once per table. */
export type ShardParts = {
  readonly [Name in TableName]?: (table: Shard[Name]) => Partial<Shard[Name]>
} & {
  readonly index?: (table: IndexTable, spec: IndexTableSpec) => Partial<IndexTable>
  readonly claims?: (table: ClaimTable, spec: IndexTableSpec) => Partial<ClaimTable>
  readonly shard?: (shard: Shard) => Partial<Shard>
}

/**
 * Wraps a shard: replaces methods, and forwards all others. Replicas stay unwrapped, unless `shard` replaces them. Returns plain
 * objects, so that a forwarded call costs about as much as a direct one.
 */
export function wrapShard(shard: Shard, parts: ShardParts): Shard {
  const tables = Object.keys(tableNames).map((name) => {
    const table = shard[name as TableName]
    // The type of the parts ties each function to its table.
    const replace = parts[name as TableName] as ((table: object) => object) | undefined
    return [name, replace === undefined ? table : withMethods(table, replace(table))]
  })
  return {
    ...withMethods(shard, {}),
    ...(Object.fromEntries(tables) as Pick<Shard, TableName>),
    index: wrapped((spec) => shard.index(spec), parts.index),
    claims: wrapped((spec) => shard.claims(spec), parts.claims),
    ...parts.shard?.(shard),
  }
}

/** A call of a method of a shard or its tables, before it is made. */
export interface ShardCall {
  /** `entities`, `catalog`, `tasks`, `pending`, `codecEntries`, the name of an index table or of a table of claims, or `shard`. */
  readonly table: string
  /** Name of the method, such as `insert`. */
  readonly operation: string
  readonly args: readonly unknown[]
}

/**
 * Wraps a shard so that every call that may send a statement goes through `intercept`, which makes it by `run`. Only the end of a snapshot
 * does not.
 */
export function interceptShard(
  shard: Shard,
  intercept: (call: ShardCall, run: () => Promise<unknown>) => Promise<unknown>,
): Shard {
  function all<Port extends object>(port: Port, table: string): Partial<Port> {
    const names = Object.entries(withMethods(port, {})).flatMap(([name, value]) =>
      typeof value !== 'function' || (table === 'shard' && Object.hasOwn(localNames, name)) ? [] : [name],
    )
    // The method is looked up at the call, so that a test can exchange it later.
    const made = (operation: string, args: unknown[]): Promise<unknown> =>
      (Reflect.get(port, operation) as AsyncMethod).apply(port, args)
    return Object.fromEntries(
      names.map((operation) => [
        operation,
        (...args: unknown[]) => intercept({ table, operation, args }, () => made(operation, args)),
      ]),
    ) as Partial<Port>
  }
  const parts: Required<ShardParts> = {
    entities: (port) => all(port, 'entities'),
    catalog: (port) => all(port, 'catalog'),
    tasks: (port) => all(port, 'tasks'),
    pending: (port) => all(port, 'pending'),
    codecEntries: (port) => all(port, 'codecEntries'),
    index: (port, { table }) => all(port, table),
    claims: (port, { table }) => all(port, table),
    shard(port) {
      const calls = all(port, 'shard')
      const { snapshot } = calls
      if (snapshot === undefined) return calls
      return { ...calls, snapshot: async (options: SnapshotOptions) => reading(await snapshot(options)) }
    },
  }
  /** Wraps the reads of a snapshot like those of the tables of the shard. */
  function reading(snapshot: ShardSnapshot): ShardSnapshot {
    return {
      entities: { ...snapshot.entities, ...all(snapshot.entities, 'entities') },
      index(spec) {
        const table = snapshot.index(spec)
        return { ...table, ...all(table, spec.table) }
      },
      close: () => snapshot.close(),
    }
  }
  return wrapShard(shard, parts)
}

/** Keeps the wrapped tables, because a shard returns the same object for the same name. */
function wrapped<Table extends object>(
  open: (spec: IndexTableSpec) => Table,
  replace: ((table: Table, spec: IndexTableSpec) => Partial<Table>) | undefined,
): (spec: IndexTableSpec) => Table {
  if (replace === undefined) return open
  const known = new Map<string, Table>()
  return (spec) =>
    getOrInsert(known, spec.table, () => {
      const original = open(spec)
      return withMethods(original, replace(original, spec))
    })
}

/** Returns an object with the own and inherited members of another, and with these in their place. */
function withMethods<Port extends object>(port: Port, replaced: Partial<Port>): Port {
  const copy: Record<string, unknown> = {}
  let level: object | null = port
  for (
    ;
    level !== null && level !== Object.prototype;
    level = Object.getPrototypeOf(level) as object | null
  ) {
    for (const name of Object.getOwnPropertyNames(level)) {
      if (name === 'constructor' || Object.hasOwn(copy, name)) continue
      const value: unknown = Reflect.get(port, name)
      copy[name] = typeof value === 'function' ? (value.bind(port) as unknown) : value
    }
  }
  return Object.assign(copy, replaced) as Port
}
