; a write through a chain of views

; == add_as_strided_scatter
; loop [p0] kept 1 vector 0
;   buffer b0 f32 written
;   buffer b1 f32
;   access a0 b0 + p1 [1]
;   access a1 b1 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = op Add %0 %1
;   %3 f32 = store a0 %2
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr i64, ptr %1, i64 1
  %12 = load i64, ptr %11, align 8
  %13 = getelementptr float, ptr %8, i64 %12
  %14 = add i64 %6, 4095
  %15 = lshr i64 %14, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %73, %tail.end ]
  %16 = phi i64 [ %2, %work ], [ %72, %tail.end ]
  %17 = icmp slt i64 %task1, %3
  br i1 %17, label %task, label %task.end

task:                                             ; preds = %task.head
  %18 = mul i64 %16, 4096
  %19 = add i64 %18, 4096
  %20 = call i64 @llvm.smin.i64(i64 %19, i64 %6)
  %21 = sub i64 %20, %18
  %22 = and i64 %21, -32
  %23 = add i64 %18, %22
  %24 = icmp slt i64 %18, %23
  br i1 %24, label %vector, label %vector.end

vector:                                           ; preds = %vector, %task
  %vector2 = phi i64 [ %18, %task ], [ %58, %vector ]
  %25 = getelementptr float, ptr %13, i64 %vector2
  %26 = load <8 x float>, ptr %25, align 4
  %27 = getelementptr float, ptr %13, i64 %vector2
  %28 = getelementptr float, ptr %27, i64 8
  %29 = load <8 x float>, ptr %28, align 4
  %30 = getelementptr float, ptr %13, i64 %vector2
  %31 = getelementptr float, ptr %30, i64 16
  %32 = load <8 x float>, ptr %31, align 4
  %33 = getelementptr float, ptr %13, i64 %vector2
  %34 = getelementptr float, ptr %33, i64 24
  %35 = load <8 x float>, ptr %34, align 4
  %36 = getelementptr float, ptr %10, i64 %vector2
  %37 = load <8 x float>, ptr %36, align 4
  %38 = getelementptr float, ptr %10, i64 %vector2
  %39 = getelementptr float, ptr %38, i64 8
  %40 = load <8 x float>, ptr %39, align 4
  %41 = getelementptr float, ptr %10, i64 %vector2
  %42 = getelementptr float, ptr %41, i64 16
  %43 = load <8 x float>, ptr %42, align 4
  %44 = getelementptr float, ptr %10, i64 %vector2
  %45 = getelementptr float, ptr %44, i64 24
  %46 = load <8 x float>, ptr %45, align 4
  %47 = fadd <8 x float> %26, %37
  %48 = fadd <8 x float> %29, %40
  %49 = fadd <8 x float> %32, %43
  %50 = fadd <8 x float> %35, %46
  %51 = getelementptr float, ptr %13, i64 %vector2
  store <8 x float> %47, ptr %51, align 4
  %52 = getelementptr float, ptr %13, i64 %vector2
  %53 = getelementptr float, ptr %52, i64 8
  store <8 x float> %48, ptr %53, align 4
  %54 = getelementptr float, ptr %13, i64 %vector2
  %55 = getelementptr float, ptr %54, i64 16
  store <8 x float> %49, ptr %55, align 4
  %56 = getelementptr float, ptr %13, i64 %vector2
  %57 = getelementptr float, ptr %56, i64 24
  store <8 x float> %50, ptr %57, align 4
  %58 = add i64 %vector2, 32
  %59 = icmp slt i64 %58, %23
  br i1 %59, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %task
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %23, %vector.end ], [ %71, %tail ]
  %60 = icmp slt i64 %tail3, %20
  br i1 %60, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %61 = sub i64 %20, %tail3
  %62 = call i64 @llvm.umin.i64(i64 %61, i64 8)
  %63 = trunc i64 %62 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %63, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %64 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %65 = getelementptr float, ptr %13, i64 %tail3
  %66 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %65, i32 4, <8 x i1> %64, <8 x float> zeroinitializer)
  %67 = getelementptr float, ptr %10, i64 %tail3
  %68 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %67, i32 4, <8 x i1> %64, <8 x float> zeroinitializer)
  %69 = fadd <8 x float> %66, %68
  %70 = getelementptr float, ptr %13, i64 %tail3
  call void @llvm.masked.store.v8f32.p0(<8 x float> %69, ptr %70, i32 4, <8 x i1> %64)
  %71 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %72 = add i64 %16, 1
  %73 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

; == sum
; loop [p0, p1] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1, p2]
;   access a1 b1 + 0 [1, 0]
;   %0 f32 = load a0
;   %1 f32 = reduce sum %0
;   %2 f32 = store a1 %1
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr i64, ptr %1, i64 2
  %14 = load i64, ptr %13, align 8
  %15 = add i64 %6, 4095
  %16 = lshr i64 %15, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %142, %tail.end ]
  %17 = phi i64 [ %2, %work ], [ %141, %tail.end ]
  %18 = icmp slt i64 %task1, %3
  br i1 %18, label %task, label %task.end

task:                                             ; preds = %task.head
  %19 = mul i64 %17, 4096
  %20 = add i64 %19, 4096
  %21 = call i64 @llvm.smin.i64(i64 %20, i64 %6)
  %22 = sub i64 %21, %19
  %23 = and i64 %22, -32
  %24 = add i64 %19, %23
  %25 = icmp slt i64 %19, %24
  br i1 %25, label %vector, label %vector.end

vector:                                           ; preds = %block.end, %task
  %vector2 = phi i64 [ %19, %task ], [ %108, %block.end ]
  br label %block.head

block.head:                                       ; preds = %reduced.end, %vector
  %block3 = phi i64 [ 0, %vector ], [ %88, %reduced.end ]
  %26 = phi <8 x float> [ zeroinitializer, %vector ], [ %60, %reduced.end ]
  %27 = phi <8 x float> [ zeroinitializer, %vector ], [ %66, %reduced.end ]
  %28 = phi <8 x float> [ zeroinitializer, %vector ], [ %67, %reduced.end ]
  %29 = phi <8 x float> [ zeroinitializer, %vector ], [ %73, %reduced.end ]
  %30 = phi <8 x float> [ zeroinitializer, %vector ], [ %74, %reduced.end ]
  %31 = phi <8 x float> [ zeroinitializer, %vector ], [ %80, %reduced.end ]
  %32 = phi <8 x float> [ zeroinitializer, %vector ], [ %81, %reduced.end ]
  %33 = phi <8 x float> [ zeroinitializer, %vector ], [ %87, %reduced.end ]
  %34 = icmp slt i64 %block3, %8
  br i1 %34, label %block, label %block.end

block:                                            ; preds = %block.head
  %35 = add i64 %block3, 256
  %36 = call i64 @llvm.smin.i64(i64 %35, i64 %8)
  br label %reduced.head

reduced.head:                                     ; preds = %reduced, %block
  %reduced4 = phi i64 [ %block3, %block ], [ %59, %reduced ]
  %37 = phi <8 x float> [ zeroinitializer, %block ], [ %55, %reduced ]
  %38 = phi <8 x float> [ zeroinitializer, %block ], [ %56, %reduced ]
  %39 = phi <8 x float> [ zeroinitializer, %block ], [ %57, %reduced ]
  %40 = phi <8 x float> [ zeroinitializer, %block ], [ %58, %reduced ]
  %41 = icmp slt i64 %reduced4, %36
  br i1 %41, label %reduced, label %reduced.end

reduced:                                          ; preds = %reduced.head
  %42 = mul i64 %reduced4, %14
  %43 = getelementptr float, ptr %10, i64 %42
  %44 = getelementptr float, ptr %43, i64 %vector2
  %45 = load <8 x float>, ptr %44, align 4
  %46 = getelementptr float, ptr %43, i64 %vector2
  %47 = getelementptr float, ptr %46, i64 8
  %48 = load <8 x float>, ptr %47, align 4
  %49 = getelementptr float, ptr %43, i64 %vector2
  %50 = getelementptr float, ptr %49, i64 16
  %51 = load <8 x float>, ptr %50, align 4
  %52 = getelementptr float, ptr %43, i64 %vector2
  %53 = getelementptr float, ptr %52, i64 24
  %54 = load <8 x float>, ptr %53, align 4
  %55 = fadd <8 x float> %45, %37
  %56 = fadd <8 x float> %48, %38
  %57 = fadd <8 x float> %51, %39
  %58 = fadd <8 x float> %54, %40
  %59 = add i64 %reduced4, 1
  br label %reduced.head

reduced.end:                                      ; preds = %reduced.head
  %60 = fadd <8 x float> %26, %37
  %61 = fsub <8 x float> %60, %26
  %62 = fsub <8 x float> %37, %61
  %63 = fsub <8 x float> %60, %61
  %64 = fsub <8 x float> %26, %63
  %65 = fadd <8 x float> %64, %62
  %66 = fadd <8 x float> %27, %65
  %67 = fadd <8 x float> %28, %38
  %68 = fsub <8 x float> %67, %28
  %69 = fsub <8 x float> %38, %68
  %70 = fsub <8 x float> %67, %68
  %71 = fsub <8 x float> %28, %70
  %72 = fadd <8 x float> %71, %69
  %73 = fadd <8 x float> %29, %72
  %74 = fadd <8 x float> %30, %39
  %75 = fsub <8 x float> %74, %30
  %76 = fsub <8 x float> %39, %75
  %77 = fsub <8 x float> %74, %75
  %78 = fsub <8 x float> %30, %77
  %79 = fadd <8 x float> %78, %76
  %80 = fadd <8 x float> %31, %79
  %81 = fadd <8 x float> %32, %40
  %82 = fsub <8 x float> %81, %32
  %83 = fsub <8 x float> %40, %82
  %84 = fsub <8 x float> %81, %82
  %85 = fsub <8 x float> %32, %84
  %86 = fadd <8 x float> %85, %83
  %87 = fadd <8 x float> %33, %86
  %88 = add i64 %block3, 256
  br label %block.head

block.end:                                        ; preds = %block.head
  %89 = fadd <8 x float> %26, %27
  %90 = fcmp uno <8 x float> %27, %27
  %91 = select <8 x i1> %90, <8 x float> %26, <8 x float> %89
  %92 = fadd <8 x float> %28, %29
  %93 = fcmp uno <8 x float> %29, %29
  %94 = select <8 x i1> %93, <8 x float> %28, <8 x float> %92
  %95 = fadd <8 x float> %30, %31
  %96 = fcmp uno <8 x float> %31, %31
  %97 = select <8 x i1> %96, <8 x float> %30, <8 x float> %95
  %98 = fadd <8 x float> %32, %33
  %99 = fcmp uno <8 x float> %33, %33
  %100 = select <8 x i1> %99, <8 x float> %32, <8 x float> %98
  %101 = getelementptr float, ptr %12, i64 %vector2
  store <8 x float> %91, ptr %101, align 4
  %102 = getelementptr float, ptr %12, i64 %vector2
  %103 = getelementptr float, ptr %102, i64 8
  store <8 x float> %94, ptr %103, align 4
  %104 = getelementptr float, ptr %12, i64 %vector2
  %105 = getelementptr float, ptr %104, i64 16
  store <8 x float> %97, ptr %105, align 4
  %106 = getelementptr float, ptr %12, i64 %vector2
  %107 = getelementptr float, ptr %106, i64 24
  store <8 x float> %100, ptr %107, align 4
  %108 = add i64 %vector2, 32
  %109 = icmp slt i64 %108, %24
  br i1 %109, label %vector, label %vector.end

vector.end:                                       ; preds = %block.end, %task
  br label %tail.head

tail.head:                                        ; preds = %block.end13, %vector.end
  %tail5 = phi i64 [ %24, %vector.end ], [ %140, %block.end13 ]
  %110 = icmp slt i64 %tail5, %21
  br i1 %110, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %111 = sub i64 %21, %tail5
  %112 = call i64 @llvm.umin.i64(i64 %111, i64 8)
  %113 = trunc i64 %112 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %113, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %114 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  br label %block.head6

block.head6:                                      ; preds = %reduced.end12, %tail
  %block8 = phi i64 [ 0, %tail ], [ %135, %reduced.end12 ]
  %115 = phi <8 x float> [ zeroinitializer, %tail ], [ %128, %reduced.end12 ]
  %116 = phi <8 x float> [ zeroinitializer, %tail ], [ %134, %reduced.end12 ]
  %117 = icmp slt i64 %block8, %8
  br i1 %117, label %block7, label %block.end13

block7:                                           ; preds = %block.head6
  %118 = add i64 %block8, 256
  %119 = call i64 @llvm.smin.i64(i64 %118, i64 %8)
  br label %reduced.head9

reduced.head9:                                    ; preds = %reduced10, %block7
  %reduced11 = phi i64 [ %block8, %block7 ], [ %127, %reduced10 ]
  %120 = phi <8 x float> [ zeroinitializer, %block7 ], [ %126, %reduced10 ]
  %121 = icmp slt i64 %reduced11, %119
  br i1 %121, label %reduced10, label %reduced.end12

reduced10:                                        ; preds = %reduced.head9
  %122 = mul i64 %reduced11, %14
  %123 = getelementptr float, ptr %10, i64 %122
  %124 = getelementptr float, ptr %123, i64 %tail5
  %125 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %124, i32 4, <8 x i1> %114, <8 x float> zeroinitializer)
  %126 = fadd <8 x float> %125, %120
  %127 = add i64 %reduced11, 1
  br label %reduced.head9

reduced.end12:                                    ; preds = %reduced.head9
  %128 = fadd <8 x float> %115, %120
  %129 = fsub <8 x float> %128, %115
  %130 = fsub <8 x float> %120, %129
  %131 = fsub <8 x float> %128, %129
  %132 = fsub <8 x float> %115, %131
  %133 = fadd <8 x float> %132, %130
  %134 = fadd <8 x float> %116, %133
  %135 = add i64 %block8, 256
  br label %block.head6

block.end13:                                      ; preds = %block.head6
  %136 = fadd <8 x float> %115, %116
  %137 = fcmp uno <8 x float> %116, %116
  %138 = select <8 x i1> %137, <8 x float> %115, <8 x float> %136
  %139 = getelementptr float, ptr %12, i64 %tail5
  call void @llvm.masked.store.v8f32.p0(<8 x float> %138, ptr %139, i32 4, <8 x i1> %114)
  %140 = add i64 %tail5, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %141 = add i64 %17, 1
  %142 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
