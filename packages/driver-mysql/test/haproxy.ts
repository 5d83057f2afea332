import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@looseleaf-tooling/mariadb'
import { until } from './until.ts'

const program = ['haproxy', '/usr/sbin/haproxy'].find((path) => spawnSync(path, ['-v']).status === 0)

/** False if HAProxy is not installed. */
export const hasHaproxy: boolean = program !== undefined

/** Starts HAProxy as a TCP proxy between a driver and a server. */
export async function startHaproxy(to: string): Promise<{ readonly url: string; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-haproxy-'))
  const config = join(folder, 'haproxy.cfg')
  const url = new URL(to)
  const port = await freePort()
  await writeFile(
    config,
    `defaults
  mode tcp
  timeout connect 5s
  timeout client 1m
  timeout server 1m
listen shard
  bind 127.0.0.1:${port}
  server db ${url.hostname}:${url.port}
`,
  )
  const haproxy = spawn(program as string, ['-db', '-f', config], { stdio: 'ignore' })
  const ended = new Promise((resolve) => haproxy.once('exit', resolve))
  await until(() => haproxy.exitCode !== null || isListening(port))
  url.port = String(port)
  return {
    url: url.href,
    async close() {
      haproxy.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true })
    },
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
