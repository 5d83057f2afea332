import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@looseleaf-tooling/mariadb'

/** Reason of the skipped tests where memcached is not installed. */
export const howToInstall = 'needs the program memcached: on Debian and Ubuntu, apt-get install memcached'

/** Time without an answer after which a server counts as paused. */
const SILENCE_MS = 500

export function hasMemcached(): boolean {
  try {
    execFileSync('memcached', ['-V'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export interface Memcached {
  /** `host:port`. */
  readonly address: string
  /** Stores a value as another program would. */
  set(key: string, flags: number, value: string): Promise<void>
  /** Sends SIGSTOP. Resolves when the server has stopped answering. */
  pause(): Promise<void>
  resume(): void
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>
  /** Restarts the server, empty, on the same port. */
  restart(): Promise<void>
}

export async function startMemcached(): Promise<Memcached> {
  const port = await freePort()
  let server = await start(port)
  return {
    address: `127.0.0.1:${port}`,
    set: (key, flags, value) => set(port, `set ${key} ${flags} 60 ${value.length}\r\n${value}\r\n`),
    async pause() {
      server.kill('SIGSTOP')
      // On a busy machine its threads run for some time after the signal.
      while (await answers(port)) await sleep(10)
    },
    resume: () => void server.kill('SIGCONT'),
    kill: () => stop(server),
    async restart() {
      await stop(server)
      server = await start(port)
    },
  }
}

async function start(port: number): Promise<ChildProcess> {
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const server = spawn('memcached', ['-l', '127.0.0.1', '-p', String(port), '-U', '0', '-m', '16', ...user], {
    stdio: 'ignore',
  })
  process.once('exit', () => server.kill('SIGKILL'))
  while (!(await isOpen(port))) {
    if (server.exitCode !== null) throw new Error(`memcached has ended with ${server.exitCode}`)
    await sleep(10)
  }
  return server
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const gone = new Promise((resolve) => server.once('exit', resolve))
  server.kill('SIGKILL')
  await gone
}

async function set(port: number, command: string): Promise<void> {
  const socket = connect(port, '127.0.0.1', () => socket.write(command))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  if (String(answer) !== 'STORED\r\n') throw new Error(`memcached has answered ${answer}`)
}

/** Tells whether the server answers. Its port stays open while it is paused. */
async function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('version\r\n'))
    socket.setTimeout(SILENCE_MS, () => socket.destroy())
    socket.once('data', () => {
      resolve(true)
      socket.destroy()
    })
    socket.once('error', () => {}).once('close', () => resolve(false))
  })
}

async function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
