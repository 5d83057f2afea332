import type { RowReaderFrom } from './row-reader.ts'

/** Bytes of one id in the budget of a page. */
const ID_BYTES = 200

/** Takes the ids from the rows, without reading entities. The key of its row makes each id an answer at that place. */
export const idReader: RowReaderFrom = ({ scanRows }) => ({
  scan: scanRows,
  async read(rows, _, take) {
    take(
      rows.map(({ key, entityId }) => ({
        id: entityId,
        bag: {},
        key,
        version: 0,
        updated: undefined,
        bytes: ID_BYTES,
      })),
    )
  },
  costOf: (cost) => ({ ...cost, entityReads: 0, entitiesRead: 0 }),
})
