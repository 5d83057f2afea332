import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import { beforeEach, describe, expect, test } from 'vitest'
import { findServer } from './find-server.ts'
import { isAlive } from './is-alive.ts'
import { startServers } from './start-servers.ts'

// If tests have external servers (or skip them), the program may be missing.
const mayLack = Boolean(process.env['LOOSELEAF_TEST_MYSQL'] ?? process.env['LOOSELEAF_SKIP_MYSQL'])
const lacks = mayLack && findServer() === undefined

beforeEach((context) => context.skip(lacks, 'needs the program mariadbd, which this machine does not have'))

describe('startServers', () => {
  test('each server answers at its URL, has the database, flushes at every commit, and is gone after the stop', async () => {
    const servers = await startServers(2, { database: 'papers' })
    try {
      expect(new Set(servers.urls).size).toBe(2)
      for (const url of servers.urls) {
        expect(await ask(url, 'SELECT DATABASE() AS a, @@innodb_flush_log_at_trx_commit AS b')).toEqual([
          { a: 'papers', b: 1 },
        ])
      }
    } finally {
      await servers.stop()
    }
    expect(servers.pids.filter(isAlive)).toEqual([])
    await servers.stop()
  })

  test('data in a given folder are found again by the next start', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'looseleaf-mariadb-test-'))
    try {
      const first = await startServers(1, { folder, database: 'papers' })
      await ask(first.urls[0], 'CREATE TABLE kept (n INT)')
      await first.stop()
      const second = await startServers(1, { folder, database: 'papers' })
      try {
        expect(await ask(second.urls[0], 'SELECT COUNT(*) AS n FROM kept')).toEqual([{ n: 0 }])
      } finally {
        await second.stop()
      }
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('servers and folder are gone after the process that started them was killed', async () => {
    const module = new URL('./start-servers.ts', import.meta.url)
    const program = `
      const { startServers } = await import(${JSON.stringify(module.href)})
      console.log(JSON.stringify((await startServers(1)).pids))
      setInterval(() => {}, 1000)`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [pid] = JSON.parse(await firstLine(parent.stdout)) as [number]
    const temporary = await temporaryFolderOf(pid)
    expect(existsSync(temporary)).toBe(true)
    parent.kill('SIGKILL')
    // Polls; the timeout of the test is the limit.
    while (isAlive(pid) || existsSync(temporary)) await sleep(20)
    expect(isAlive(pid)).toBe(false)
  })

  test('a server that cannot start is reported with the end of its log, and no process remains', async () => {
    await expect(startServers(1, { serverArguments: ['--no-such-option=1'] })).rejects.toThrow(
      /did not start[^]*no-such-option/,
    )
  })
})

async function ask(url: string | undefined, statement: string): Promise<unknown> {
  const connection = await createConnection(url ?? '')
  try {
    const [rows] = await connection.query(statement)
    return rows
  } finally {
    await connection.end()
  }
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stream })) return line
  throw new Error('The program ended without a line.')
}

/** Reads the server's arguments, because only the supervisor knows the folder. */
async function temporaryFolderOf(pid: number): Promise<string> {
  if (process.platform !== 'linux') return join(tmpdir(), 'nothing')
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8')
  const socket = /--socket=([^\0]+)\/shard-0\.sock/.exec(command)?.[1]
  if (socket === undefined) throw new Error('The server has no socket argument.')
  return socket
}
