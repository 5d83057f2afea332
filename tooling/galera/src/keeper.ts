/**
 * A process of its own that keeps the nodes of a cluster for its parent. Its input closes with the parent's death,
 * whatever the way; it kills every node then, with what a node has started, and removes their folder.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Answer, Command, Order } from './keeping.ts'

const run = promisify(execFile)
const children = new Map<number, ChildProcess>()
let order: Order | undefined
let folder: string | undefined
let user: { readonly uid?: number; readonly gid?: number } = {}
let ending = false

async function obey(
  { action, node }: Command,
  { galera, password, database, ...rest }: Order,
): Promise<void> {
  folder ??= await makeFolder()
  const nodeFolder = join(folder, `node-${node}`)
  if (action === 'kill') return kill(node)
  if (action === 'pause' || action === 'resume')
    return signal(node, action === 'pause' ? 'SIGSTOP' : 'SIGCONT')

  const base = ['--no-defaults', `--datadir=${nodeFolder}`]
  await mkdir(nodeFolder, { recursive: true, mode: 0o700 })
  if (user.uid !== undefined && user.gid !== undefined) await chown(nodeFolder, user.uid, user.gid)
  if (action === 'bootstrap') {
    const script = join(dirname(dirname(galera.server)), 'bin', 'mariadb-install-db')
    await run(
      script,
      [...base, '--auth-root-authentication-method=normal', '--skip-test-db', '--innodb-log-file-size=8M'],
      user,
    )
  }
  const ports = rest.nodes[node]
  if (ports === undefined) throw new RangeError(`There is no node ${node}.`)
  const group = rest.nodes.map((each) => `127.0.0.1:${each.group}`).join()
  const settings = [
    ...base,
    `--port=${ports.client}`,
    '--bind-address=127.0.0.1',
    `--socket=${join(folder, `node-${node}.sock`)}`,
    `--pid-file=${join(folder, `node-${node}.pid`)}`,
    '--skip-name-resolve',
    '--binlog-format=ROW',
    '--innodb-autoinc-lock-mode=2',
    '--innodb-flush-log-at-trx-commit=1',
    '--innodb-buffer-pool-size=64M',
    '--innodb-log-file-size=48M',
    '--performance-schema=OFF',
    '--max-connections=300',
    '--wsrep-on=ON',
    `--wsrep-provider=${galera.provider}`,
    '--wsrep-cluster-name=looseleaf',
    `--wsrep-cluster-address=gcomm://${group}`,
    `--wsrep-node-name=node-${node}`,
    '--wsrep-node-address=127.0.0.1',
    `--wsrep-node-incoming-address=127.0.0.1:${ports.client}`,
    '--wsrep-sst-method=rsync',
    `--wsrep-sst-receive-address=127.0.0.1:${ports.sst}`,
    `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${ports.group};ist.recv_addr=127.0.0.1:${ports.ist};gcache.size=64M`,
    ...rest.serverArguments,
  ]
  const more =
    action === 'bootstrap'
      ? ['--wsrep-new-cluster', `--init-file=${await initFile(folder, password, database)}`]
      : await startPosition(galera.server, settings)
  if (ending) return
  const log = openSync(join(folder, `node-${node}.log`), 'a', 0o600)
  // A group of its own, so that the scripts that it starts end with it.
  const child = spawn(galera.server, [...settings, ...more], {
    stdio: ['ignore', log, log],
    detached: true,
    ...user,
  })
  closeSync(log)
  child.on('error', () => undefined)
  children.set(node, child)
}

/** Where this is root, the nodes are not: as root, rsync would give up its rights and could not write their folders. */
async function makeFolder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'looseleaf-galera-'))
  if (process.getuid?.() !== 0) return made
  const idOf = async (flag: string): Promise<number> => Number((await run('id', [flag, 'mysql'])).stdout)
  const [uid, gid] = [await idOf('-u'), await idOf('-g')]
  await chown(made, uid, gid)
  user = { uid, gid }
  return made
}

/** What a service does after a crash: reads from InnoDB how far the node had come, so that it is sent only the rest. */
async function startPosition(server: string, settings: readonly string[]): Promise<string[]> {
  const all = [...settings, '--wsrep-recover']
  const output = await run(server, all, { maxBuffer: 2 ** 26, ...user }).then(
    ({ stdout, stderr }) => stdout + stderr,
    () => '',
  )
  const position = /Recovered position:\s*(\S+)/.exec(output)?.[1]
  return position === undefined ? [] : [`--wsrep-start-position=${position}`]
}

async function initFile(inFolder: string, password: string, database: string): Promise<string> {
  const path = join(inFolder, 'first.sql')
  const lines = [
    `CREATE USER IF NOT EXISTS 'looseleaf'@'127.0.0.1' IDENTIFIED BY '${password}';`,
    `GRANT ALL PRIVILEGES ON *.* TO 'looseleaf'@'127.0.0.1';`,
    `ALTER USER IF EXISTS 'root'@'localhost' IDENTIFIED BY '${password}';`,
    `DROP USER IF EXISTS 'root'@'127.0.0.1', 'root'@'::1', ''@'localhost';`,
    `CREATE DATABASE IF NOT EXISTS \`${database}\`;`,
  ]
  await writeFile(path, `${lines.join('\n')}\n`, { mode: 0o600 })
  if (user.uid !== undefined && user.gid !== undefined) await chown(path, user.uid, user.gid)
  return path
}

function signal(node: number, name: NodeJS.Signals): void {
  const pid = children.get(node)?.pid
  if (pid !== undefined) process.kill(-pid, name)
}

async function kill(node: number): Promise<void> {
  const child = children.get(node)
  children.delete(node)
  if (child?.pid === undefined) return
  const gone = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has ended by itself, and left nobody behind.
  }
  await gone
}

async function end(): Promise<never> {
  ending = true
  await tail
  await Promise.all([...children.keys()].map(kill))
  if (folder !== undefined && process.env['LOOSELEAF_KEEP'] === undefined)
    await rm(folder, { recursive: true, force: true })
  process.exit(0)
}

let tail: Promise<void> = Promise.resolve()
async function take(line: string): Promise<void> {
  if (order === undefined) {
    order = JSON.parse(line) as Order // The parent is ours and writes nothing else.
    return
  }
  const given = order
  const command = JSON.parse(line) as Command
  const error = await obey(command, given).then(
    () => undefined,
    (thrown: unknown) => String(thrown),
  )
  const answer: Answer = { call: command.call, error }
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

process.stdout.on('error', () => undefined)
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => void end())
const input = createInterface({ input: process.stdin })
input.on('line', (line) => {
  // One after the other: a node is not started while it is still being killed.
  tail = tail.then(() => take(line))
})
input.once('close', () => void end())
