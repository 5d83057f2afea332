import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@looseleaf-tooling/mariadb'
import pg from 'pg'
import { cpuOf, withChildren } from '../measure/usage.ts'
import { createCleanup } from './cleanup.ts'
import type { Server } from './server.ts'

export const howToInstallPostgres =
  'Pongo needs PostgreSQL, which this machine lacks. On Debian and Ubuntu: apt-get install postgresql'

/** Folder of the programs in Debian's packages. */
const DEBIAN = '/usr/lib/postgresql'
const START_MS = 30_000

/** Each commit is flushed, as on MariaDB. The memory equals MariaDB's, so that all data is cached. */
const settings: Readonly<Record<string, string>> = {
  fsync: 'on',
  synchronous_commit: 'on',
  shared_buffers: '2GB',
  max_wal_size: '2GB',
  max_connections: '300',
  listen_addresses: '127.0.0.1',
}

/** Returns the folder of `initdb` and `postgres`; undefined if PostgreSQL is not installed. */
export function findPostgres(): string | undefined {
  const folders = existsSync(DEBIAN)
    ? readdirSync(DEBIAN)
        .toSorted((a, b) => Number(b) - Number(a))
        .map((version) => join(DEBIAN, version, 'bin'))
    : []
  const path = (process.env['PATH'] ?? '').split(':')
  return [...path, ...folders].find((folder) =>
    ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))),
  )
}

/** Starts one private server, whatever the number of shards: Pongo does not shard. Throws if PostgreSQL is not installed. */
export async function openPostgres(): Promise<Server> {
  const programs = findPostgres()
  if (programs === undefined) throw new Error(howToInstallPostgres)
  const cleanup = createCleanup()
  try {
    const folder = await mkdtemp(join(tmpdir(), 'looseleaf-bench-postgres-'))
    cleanup.add(() => rm(folder, { recursive: true, force: true }))
    const user = userToRunAs()
    const [password, port] = [randomBytes(12).toString('hex'), await freePort()]
    const data = join(folder, 'data')
    await writeFile(join(folder, 'password'), password, { mode: 0o600 })
    if (user !== undefined)
      for (const path of [folder, join(folder, 'password')]) await chown(path, user.uid, user.gid)
    await chmod(folder, 0o700)
    execFileSync(
      join(programs, 'initdb'),
      [
        '-D',
        data,
        '-U',
        'bench',
        '-A',
        'scram-sha-256',
        '-E',
        'UTF8',
        '--locale=C',
        `--pwfile=${folder}/password`,
      ],
      { ...user, cwd: folder, stdio: 'ignore' },
    )

    // `cat` ends when this process ends, even by a kill, because its input closes then. The shell then stops the server.
    const options = Object.entries({ ...settings, port: String(port), unix_socket_directories: folder })
    const server = `"$0" -D "$1" ${options.map(([name, value]) => `-c ${name}=${value}`).join(' ')}`
    const child = spawn(
      '/bin/sh',
      ['-c', `${server} & cat; kill -INT $!; wait $!; rm -rf "$1"`, join(programs, 'postgres'), data],
      { ...user, cwd: folder, stdio: ['pipe', 'ignore', 'ignore'], detached: true },
    )
    const exited = once(child, 'exit')
    cleanup.add(async () => {
      child.stdin.end()
      await exited
    })

    const urlOf = (database: string): string => `postgresql://bench:${password}@127.0.0.1:${port}/${database}`
    const admin = await connect(urlOf('postgres'))
    cleanup.add(() => admin.end())
    const pid = Number((await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')[0])
    const { rows } = await admin.query<{ version: string }>('SELECT version()')
    let created = 0
    return {
      kind: 'postgres',
      title: 'a PostgreSQL server',
      facts: { version: rows[0]?.version, ...settings },
      // PostgreSQL does not count statements without an extension.
      meter: {
        read: async () => ({ cpu: cpuOf(withChildren(pid)), statements: undefined, flushes: undefined }),
      },
      async createDatabases() {
        const name = `bench_${created++}`
        await admin.query(`CREATE DATABASE ${name}`)
        return [urlOf(name)]
      },
      async dropDatabases(databases) {
        for (const url of databases)
          await admin.query(`DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
      },
      async bytesOf(databases) {
        const client = await connect(databases[0] as string)
        // Autovacuum would do this at some later time, possibly during a measurement. It gives the planner statistics.
        await client.query('VACUUM ANALYZE entries')
        const sizes = await client.query<{ bytes: string }>(
          'SELECT SUM(pg_total_relation_size(oid)) AS bytes FROM pg_class WHERE relname = $1',
          ['entries'],
        )
        await client.end()
        return Number(sizes.rows[0]?.bytes)
      },
      close: () => cleanup.run(),
    }
  } catch (error) {
    await cleanup.run()
    throw error
  }
}

async function connect(url: string): Promise<pg.Client> {
  for (const deadline = performance.now() + START_MS; ;) {
    const client = new pg.Client(url)
    try {
      await client.connect()
      // A server that stops ends its connections; without a listener, this error would end the process.
      client.on('error', () => undefined)
      return client
    } catch (error) {
      if (performance.now() > deadline) throw error
      await sleep(50)
    }
  }
}

/** Returns the package's user if this process is root, because PostgreSQL refuses to run as root; otherwise undefined. */
function userToRunAs(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'))
  if (line === undefined) throw new Error('PostgreSQL does not run as root, and there is no user postgres.')
  const [, , uid, gid] = line.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}
