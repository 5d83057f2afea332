import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { environment, root } from './project.mjs'

const PARENT_CHECK_MS = 500

/**
 * Runs a command with the terminal inherited and resolves with its exit code, like a shell. The command ends when
 * this process receives a signal, or when the calling npm is gone, so no process stays behind.
 */
export function run([command, ...args], { env = {} } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, env: { ...environment, ...env }, stdio: 'inherit' })
    const forgetSignals = passSignalsOn(child)
    const forgetParent = endWithParent(child)
    const finish = (code) => {
      forgetSignals()
      forgetParent()
      resolve(code)
    }
    child.once('error', (error) => {
      console.error(`${command}: ${error.message}`)
      finish(127)
    })
    child.once('exit', (code, signal) => finish(code ?? 128 + constants.signals[signal]))
  })
}

function passSignalsOn(child) {
  const sent = new Set()
  const listeners = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => {
    const listener = () => {
      // Ctrl-C at a terminal reaches the child by itself, and npm sends its own copy: once is enough.
      const reachesAll = signal === 'SIGINT' && process.stdin.isTTY === true
      if (!reachesAll && !sent.has(signal)) child.kill(signal)
      sent.add(signal)
    }
    process.on(signal, listener)
    return [signal, listener]
  })
  return () => listeners.forEach(([signal, listener]) => process.off(signal, listener))
}

/** The scripts of package.json begin with `exec`, so that our parent is npm and not a shell that swallows signals. */
function endWithParent(child) {
  if (process.env.npm_lifecycle_event === undefined) return () => undefined
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    child.kill('SIGTERM')
  }, PARENT_CHECK_MS)
  return () => clearInterval(timer)
}
