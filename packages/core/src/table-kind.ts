/**
 * What kind of table it is, by its name; `own` is also where there is none. For numbers that are told by table: with the name of
 * each index's table, for every shard and operation, there would be too many where there are hundreds of indexes.
 */
export function tableKind(table: string | undefined): 'entities' | 'index' | 'claims' | 'own' {
  if (table?.startsWith('index_')) return 'index'
  if (table?.startsWith('claims_')) return 'claims'
  return table === undefined || table.startsWith('looseleaf_') ? 'own' : 'entities'
}
