import { msgpackZlibCodec, formatId, parseId } from 'looseleaf'
import type { Pool, RowDataPacket } from 'mysql2/promise'
import { benchIndexes } from '../workload/indexes.ts'
import { includedOf, nextVersion, rowsOf, type Placement } from './index-rows.ts'
import type { Side, StoredEntry } from './side.ts'

interface JoinedRow extends RowDataPacket {
  readonly id: Buffer
  readonly body: Buffer
}

interface ListedRow extends RowDataPacket {
  readonly entity_id: Buffer
  readonly included: Buffer
}

/**
 * The calls of a program by hand that keeps an entry and its index rows on the shard of the user: a transaction writes them, and a join reads
 * them.
 */
export function nearByHand(
  pools: readonly Pool[],
  placement: Placement,
): Required<Pick<Side, 'insert' | 'page' | 'list'>> {
  const { router } = placement
  const codec = msgpackZlibCodec()
  const poolOf = (user: Uint8Array): Pool => pools[router.shardOfId(user)] as Pool

  return {
    async insert(entry) {
      const user = parseId(entry.user_id)
      const id = router.newId(user)
      const version = nextVersion(0)
      const connection = await poolOf(user).getConnection()
      try {
        await connection.beginTransaction()
        for (const { index, key } of rowsOf(placement, id, entry)) {
          const included = includedOf(index, entry)
          const columns = [
            ...index.columns,
            ...(included === undefined ? [] : ['included']),
            'entity_id',
            'version',
          ]
          const values = [...key, ...(included === undefined ? [] : [codec.encode(included)]), id, version]
          await connection.execute(
            `INSERT INTO ${index.table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
            values,
          )
        }
        await connection.execute(
          'INSERT INTO entities (id, updated, version, body) VALUES (?, NOW(6), ?, ?)',
          [id, version, codec.encode(entry)],
        )
        await connection.commit()
      } catch (error) {
        await connection.rollback()
        throw error
      } finally {
        connection.release()
      }
      return { id: formatId(id), user: entry.user_id }
    },

    async page(user, limit) {
      const key = parseId(user)
      const [rows] = await poolOf(key).execute<JoinedRow[]>(
        `SELECT e.id, e.body FROM ${benchIndexes.user.table} x JOIN entities e ON e.id = x.entity_id
         WHERE x.user_id = ? ORDER BY x.published DESC, x.entity_id DESC LIMIT ${limit}`,
        [key],
      )
      const entries = rows.map((row): StoredEntry => ({ ...codec.decode(row.body), id: formatId(row.id) }))
      return entries.filter((entry) => entry['user_id'] === user)
    },

    async list(user, limit) {
      const key = parseId(user)
      const [rows] = await poolOf(key).execute<ListedRow[]>(
        `SELECT x.entity_id, x.included FROM ${benchIndexes.list.table} x
         JOIN entities e ON e.id = x.entity_id AND e.version = x.version
         WHERE x.user_id = ? ORDER BY x.published DESC, x.entity_id DESC LIMIT ${limit}`,
        [key],
      )
      return rows.map(({ entity_id, included }) => {
        const { title, link } = codec.decode(included)
        return { id: formatId(entity_id), title, link } as StoredEntry
      })
    },
  }
}
