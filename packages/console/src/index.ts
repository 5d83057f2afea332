export { createConsole, type Console, type ConsoleOptions } from './console.ts'
export type { Link } from './page.ts'
