// Macros that applications have before they include us: those of Qt (unless QT_NO_KEYWORDS is set), of <X11/X.h> and
// <X11/Xlib.h>, and of Windows' and other large headers. `min` and `max` are not among them: they break Asio.
#pragma once

#define emit
#define signals public
#define slots
#define foreach(variable, container) for (variable : container)
#define forever for (;;)

#define Above 0
#define Always 2
#define Below 1
#define Bool int
#define Complex 0
#define ControlMask 4
#define Convex 2
#define CurrentTime 0L
#define CursorShape 0
#define Expose 12
#define False 0
#define FocusIn 9
#define FocusOut 10
#define GrayScale 1
#define KeyPress 2
#define None 0L
#define Status int
#define Success 0
#define True 1
#define Unsorted 0

#define CONST const
#define DEBUG 1
#define DELETE 0x00010000L
#define ERR (-1)
#define ERROR 0
#define IN
#define NO 0
#define NO_ERROR 0L
#define OK 0
#define OPTIONAL
#define OUT
#define STRICT 1
#define TRANSPARENT 1
#define YES 1
#define far
#define interface struct
#define near
#define nil 0
#define small char
