/**
 * What kind of table it is: metrics with the name of each index's table, for every shard and operation, would be too many series
 * where there are hundreds of indexes.
 */
export function tableKind(table: string | undefined): 'entities' | 'index' | 'claims' | 'own' {
  if (table?.startsWith('index_')) return 'index'
  if (table?.startsWith('claims_')) return 'claims'
  return table === undefined || table.startsWith('looseleaf_') ? 'own' : 'entities'
}
