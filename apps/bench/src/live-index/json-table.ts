import { createConnection, type Connection } from 'mysql2/promise'
import { createPost, postId, twinOf } from './posts.ts'
import { jsonShardOf } from '../sides/json-side.ts'
import { hex } from './post-sides.ts'

/** The table of a team without the store: a JSON column, and a generated column for each indexed property. */
const TABLE = `CREATE TABLE posts (
  id BINARY(16) PRIMARY KEY,
  body JSON NOT NULL,
  user_id VARCHAR(36) CHARACTER SET ascii AS (JSON_VALUE(body, '$.user_id')) STORED,
  published VARCHAR(24) CHARACTER SET ascii AS (JSON_VALUE(body, '$.published')) STORED,
  KEY by_user (user_id, published)
)`

const ROWS_PER_STATEMENT = 500

export async function fillJsonTables(urls: readonly string[], posts: number, twins: number): Promise<void> {
  const connections = await connectAll(urls)
  await Promise.all(connections.map((connection) => connection.query(TABLE)))
  const pending: [Buffer, string][][] = urls.map(() => [])
  const send = async (shard: number): Promise<void> => {
    const rows = pending[shard] ?? []
    pending[shard] = []
    if (rows.length > 0) await connections[shard]?.query('INSERT INTO posts (id, body) VALUES ?', [rows])
  }
  for (let number = 0; number < posts; number++) {
    const post = createPost(number, 0, firstHandle(number, posts, twins))
    const shard = jsonShardOf(post.user_id, urls.length)
    const rows = pending[shard] ?? []
    rows.push([Buffer.from(hex(postId(number)), 'hex'), JSON.stringify(post)])
    if (rows.length >= ROWS_PER_STATEMENT) await send(shard)
  }
  await Promise.all(urls.map((_, shard) => send(shard)))
  await Promise.all(connections.map((connection) => connection.end()))
}

/** Returns the number of the post whose handle this post gets at first. The last `twins` posts share those of the first `twins`. */
export function firstHandle(number: number, posts: number, twins: number): number {
  const twin = twinOf(number, posts)
  return twin < twins ? twin : number
}

/** Adds each column before its index, as one does on a table in use: adding a virtual column is instant. */
const CHANGES = {
  'ADD COLUMN title_key': `ALTER TABLE posts ADD COLUMN title_key VARCHAR(200) AS (LOWER(JSON_VALUE(body, '$.title'))) VIRTUAL`,
  'ADD INDEX by_title': 'ALTER TABLE posts ADD INDEX by_title (title_key)',
  'ADD COLUMN handle': `ALTER TABLE posts ADD COLUMN handle VARCHAR(60) AS (JSON_VALUE(body, '$.handle')) VIRTUAL`,
  'ADD UNIQUE by_handle': 'ALTER TABLE posts ADD UNIQUE by_handle (handle)',
}

export interface Altered {
  readonly change: string
  readonly seconds: number
  /** Error message of each shard that rejected the change. */
  readonly refused: readonly string[]
}

/** Alters the tables of all shards in parallel. There is no tag index: MariaDB cannot index the elements of an array. */
export async function alterJsonTables(urls: readonly string[]): Promise<Altered[]> {
  const connections = await connectAll(urls)
  const altered: Altered[] = []
  for (const [change, sql] of Object.entries(CHANGES)) {
    const start = performance.now()
    const ends = await Promise.allSettled(connections.map((connection) => connection.query(sql)))
    const refused = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []))
    altered.push({ change, seconds: (performance.now() - start) / 1000, refused })
  }
  await Promise.all(connections.map((connection) => connection.end()))
  return altered
}

function connectAll(urls: readonly string[]): Promise<Connection[]> {
  return Promise.all(urls.map((uri) => createConnection({ uri })))
}
