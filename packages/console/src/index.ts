export { createConsole, type Console, type ConsoleOptions } from './console.ts'
export type { MayShow } from './showing.ts'
export type { Link } from './page.ts'
