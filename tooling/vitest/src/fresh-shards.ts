import { randomBytes } from 'node:crypto'
import { createConnection } from 'mysql2/promise'
import { inject } from 'vitest'
import type { MysqlOffer } from './mariadb-setup.ts'
import { openShards } from './open-shards.ts'

export interface FreshShards {
  /** One URL per shard, with user, password and the name of an empty database. */
  readonly urls: string[]
  /** Drops the databases. Runs automatically after the test file. Idempotent. */
  drop(): Promise<void>
}

const instructions =
  'Tests in *.int.test.ts need MariaDB or MySQL: install one (it need not run), or name servers with ' +
  'LOOSELEAF_TEST_MYSQL=mysql://user:password@host:port,…, or leave these tests out with LOOSELEAF_SKIP_MYSQL=1.'

/**
 * Creates empty databases with random names, spread evenly over the servers of the run. Works at the top of a
 * file too.
 */
export async function freshShards(count: number): Promise<FreshShards> {
  const servers = await serverUrls()
  const urls = Array.from({ length: count }, (_, i) => {
    const url = new URL(servers[i % servers.length] ?? '')
    url.pathname = `/looseleaf_test_${randomBytes(8).toString('hex')}`
    return url.href
  })
  let dropped: Promise<void> | undefined
  const shards: FreshShards = {
    urls,
    drop() {
      openShards.delete(shards)
      return (dropped ??= onEachDatabase(urls, (name) => `DROP DATABASE IF EXISTS \`${name}\``))
    },
  }
  openShards.add(shards)
  await onEachDatabase(urls, (name) => `CREATE DATABASE \`${name}\``)
  return shards
}

let asked: Promise<readonly string[]> | undefined

function serverUrls(): Promise<readonly string[]> {
  return (asked ??= ask())
}

async function ask(): Promise<readonly string[]> {
  const mysql: MysqlOffer | undefined = inject('mysql')
  if (mysql === undefined)
    throw new Error('The vitest settings of @looseleaf-tooling/vitest are not in use here.')
  if ('urls' in mysql) {
    if (mysql.urls.length === 0) throw new Error(instructions)
    return mysql.urls
  }
  const response = await fetch(mysql.askAt)
  // Our own process answers.
  const answer = (await response.json()) as { urls: string[] } | { failed: string }
  if ('failed' in answer) throw new Error(`${instructions}\n${answer.failed}`)
  return answer.urls
}

async function onEachDatabase(urls: readonly string[], statement: (name: string) => string): Promise<void> {
  await Promise.all(
    urls.map(async (text) => {
      const url = new URL(text)
      const name = url.pathname.slice(1)
      url.pathname = '/'
      const connection = await createConnection({ uri: url.href, connectTimeout: 10_000 })
      try {
        await connection.query(statement(name))
      } finally {
        connection.destroy()
      }
    }),
  )
}
