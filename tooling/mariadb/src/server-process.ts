import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import type { FoundServer } from '../index.d.ts'
import { runsAsRoot } from './data-folder.ts'

/** Time for a server to stop before it is killed. */
const STOP_GRACE_MS = 8_000
const BETWEEN_CHECKS_MS = 50

export const USER = 'looseleaf'

export interface ServerProcess {
  readonly pid: number
  readonly port: number
  stop(): Promise<void>
}

export interface ServerProcessOptions {
  readonly server: FoundServer
  readonly name: string
  readonly dataFolder: string
  /** Folder for the socket, the log and the first statements; private to this user. */
  readonly runFolder: string
  readonly port: number
  readonly password: string
  readonly database: string | undefined
  readonly serverArguments: readonly string[]
  readonly user: string
  readonly environment: NodeJS.ProcessEnv | undefined
  readonly startTimeoutMs: number
}

/** Resolves when the server has answered a query. Rejects with the end of its log after it is gone. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const logPath = join(options.runFolder, `${options.name}.log`)
  const child = await launch(options, logPath)
  const deadline = performance.now() + options.startTimeoutMs
  for (;;) {
    if (child.pid === undefined || hasEnded(child) || performance.now() > deadline) {
      await stopChild(child)
      const log = (await readFile(logPath, 'utf8')).trimEnd().split('\n').slice(-12).join('\n')
      throw new Error(
        `${options.server.path} did not start on port ${options.port}. The end of its log:\n${log}`,
      )
    }
    if (await answers(options)) break
    await sleep(BETWEEN_CHECKS_MS)
  }
  return { pid: child.pid, port: options.port, stop: () => stopChild(child) }
}

async function launch(options: ServerProcessOptions, logPath: string): Promise<ChildProcess> {
  const initPath = join(options.runFolder, `${options.name}.sql`)
  await writeFile(initPath, firstStatements(options), { mode: 0o600 })
  const log = openSync(logPath, 'w', 0o600)
  const child = spawn(options.server.path, serverArguments(options, initPath), {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...options.environment },
  })
  closeSync(log)
  child.on('error', () => undefined)
  return child
}

/** Each server has its own; see the supervisor. */
function temporaryFolder(options: ServerProcessOptions): string {
  const folder = join(options.runFolder, `${options.name}.tmp`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}

function serverArguments(options: ServerProcessOptions, initPath: string): string[] {
  return [
    '--no-defaults',
    ...(runsAsRoot() ? [`--user=${options.user}`] : []),
    `--datadir=${options.dataFolder}`,
    `--port=${options.port}`,
    '--bind-address=127.0.0.1',
    `--tmpdir=${temporaryFolder(options)}`,
    `--socket=${join(options.runFolder, `${options.name}.sock`)}`,
    `--pid-file=${join(options.runFolder, `${options.name}.pid`)}`,
    `--init-file=${initPath}`,
    '--skip-name-resolve',
    '--skip-log-bin',
    '--innodb-flush-log-at-trx-commit=1',
    '--innodb-buffer-pool-size=64M',
    '--innodb-log-buffer-size=4M',
    '--key-buffer-size=1M',
    '--max-connections=300',
    ...(options.server.flavor === 'mariadb'
      ? ['--innodb-log-file-size=48M', '--aria-pagecache-buffer-size=4M']
      : [
          '--mysqlx=OFF',
          '--innodb-redo-log-capacity=96M',
          '--innodb-use-native-aio=0',
          // The default folder exists only if a service was installed.
          '--secure-file-priv=NULL',
        ]),
    ...options.serverArguments,
  ]
}

/** Returns the statements that the server runs at every start before it listens, one per line. */
function firstStatements({ password, database }: ServerProcessOptions): string {
  const user = `'${USER}'@'127.0.0.1'`
  return [
    `CREATE USER IF NOT EXISTS ${user} IDENTIFIED BY '${password}';`,
    `ALTER USER ${user} IDENTIFIED BY '${password}';`,
    `GRANT ALL PRIVILEGES ON *.* TO ${user} WITH GRANT OPTION;`,
    // A new data folder has a root user without a password, who could connect over TCP.
    `ALTER USER IF EXISTS 'root'@'localhost' IDENTIFIED BY '${password}';`,
    `DROP USER IF EXISTS 'root'@'127.0.0.1', 'root'@'::1', ''@'localhost';`,
    ...(database === undefined ? [] : [`CREATE DATABASE IF NOT EXISTS \`${database}\`;`]),
    '',
  ].join('\n')
}

async function answers({ port, password }: ServerProcessOptions): Promise<boolean> {
  try {
    const connection = await createConnection({
      host: '127.0.0.1',
      port,
      user: USER,
      password,
      connectTimeout: 5_000,
    })
    try {
      await connection.query('SELECT 1')
    } finally {
      connection.destroy()
    }
    return true
  } catch {
    // Not ready yet. If another program listens there, the server itself gives up.
    return false
  }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS)
  await gone
  clearTimeout(timer)
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
