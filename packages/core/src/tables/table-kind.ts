/**
 * Returns the kind of a table by its name; `own` for undefined. Metrics use the kind as a label: with hundreds of indexes, table
 * names would make too many series per shard and operation.
 */
export function tableKind(table: string | undefined): 'entities' | 'index' | 'claims' | 'own' {
  if (table?.startsWith('index_')) return 'index'
  if (table?.startsWith('claims_')) return 'claims'
  return table === undefined || table.startsWith('looseleaf_') ? 'own' : 'entities'
}
