/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export { clientFailure } from './database/client-failure.ts'
export {
  codeOf,
  sumOf,
  sumOfBody,
  type BatchedSwap,
  type Fault,
  type LosingTables,
  type SwapTable,
  type TableFault,
} from './database/flavor.ts'
export type { HeldConnection, OpenSnapshot } from './database/held-session.ts'
export type { PacketAnswer, PacketConnection } from './database/packet-connection.ts'
export { notStreamed } from './database/not-streamed.ts'
export { toCount, toNumber } from './database/row-values.ts'
export {
  lackingTable,
  type BoundStatement,
  type HintedQuery,
  type Row,
  type Session,
  type CompiledStatement,
  type StatementHints,
} from './database/session.ts'
export type { QueryRows } from './shard.ts'
export { parameter, parameterRows, parameterList } from './database/sql-parts.ts'
export { statementTeller, type StatementTeller } from './database/statement-teller.ts'
export { checkEntityTable } from './database/table-names.ts'
export type { KyselyDriverOptions } from './driver.ts'
